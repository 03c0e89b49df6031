"""What a planned node does with pods: the questions that users ask of a kubelet before there is
one.
"""
