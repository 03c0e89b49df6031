"""Who gets which CPUs: rules and goals as data, the layout that they give, and what to change where
there is none.
"""
