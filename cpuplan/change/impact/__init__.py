"""What a change of the inputs costs: two compilations of a project, compared node by node."""
