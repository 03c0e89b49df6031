"""How changes reach nodes, and delivery by Git: CP661 to CP665 and CP676 to CP679."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    "CP661": Code(
        "rollout that the platform cannot do",
        "rollout.{field} cannot be kept: {problem}",
        "{remedy}",
        "Each field of `rollout` becomes something that an operator or a tool obeys (docs/rollout.md). What it would "
        "become here does not exist, so that nodes would get the change in another order, or at once.",
    ),
    "CP662": Code(
        "rollout that nothing keeps",
        "nothing keeps rollout.{field}: for {what}, cpuplan writes files here that your own tools bring to nodes",
        "do it in the tool that installs the files, or use the delivery ansible or nodeWright",
        "The files of a class say nothing about the order of nodes. The playbook for Ansible and the objects for "
        "NodeWright do. This is a warning.",
        "warning",
    ),
    "CP663": Code(
        "order of clusters or times that nothing keeps",
        "nothing keeps rollout.{field}: {problem}",
        "{remedy}",
        "Waves of clusters and maintenance windows become fields of the ApplicationSet and the AppProject of Argo CD. "
        "This is a warning.",
        "warning",
    ),
    "CP664": Code(
        "two waves of one name",
        "{wave} is the name of an earlier wave too",
        "give each wave of the rollout its own name",
        "Waves are known by their names: in a label of Applications, and as a group of Ansible's inventory.",
    ),
    "CP665": Code(
        "wave without nodes",
        "wave {wave} of intent {intent} has no nodes that are not in an earlier wave",
        "correct its clusters, nodes or matchLabels: the inventory has the names and labels of nodes",
        "A node is in the first wave that selects it. A canary that selects nothing protects nobody. This is a "
        "warning.",
        "warning",
    ),
    "CP676": Code(
        "different rollouts in one cluster",
        "rollout.{field} of intent {mine} differs from that of intent {first} in cluster {cluster}",
        "write the same in all intents of the cluster",
        "Argo CD syncs a cluster as a whole: one Application has all objects of its intents. So they have the same "
        "wave of clusters, the same order of waves, and the same maintenance windows.",
    ),
    "CP677": Code(
        "name of an Application too long for a label",
        "with tracking label, Argo CD would cut the name {name}: it has {size} characters, a label has room for 63",
        "use tracking annotation, or a shorter name for cluster {cluster}",
        "Argo CD writes the Application's name into a label of each object, and compares it when it looks for its "
        "objects. Two names that are cut to the same one would own each other's objects.",
    ),
    "CP678": Code(
        "waiting for a paused pool",
        "verify.waitFor waits for nodes of the paused pool {pool}, which get nothing",
        "remove verify.waitFor until the pool is not paused, or end the sync by hand",
        "The Job after each sync ends when all nodes of the cluster hold their plan. While a pool is paused, its nodes "
        "do not, and the Job fails when its time is over. This is a warning.",
        "warning",
    ),
    "CP679": Code(
        "manifests that are not settled",
        "{problem}",
        "{remedy}",
        "`compile --stdout` gives Argo CD the objects of one cluster, each time it looks at the repository. The layout "
        "must therefore be in the lock: a layout that is solved there would be in no commit, and nobody would have "
        "seen it.",
    ),
}
