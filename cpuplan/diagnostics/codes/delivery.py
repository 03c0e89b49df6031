"""How what was compiled reaches nodes and is verified there: Git, rollouts, Jobs and the agent."""

from cpuplan.diagnostics.codes.code import Code

CODES = {
    # Commits and trees of the repository that a project is in.
    "CP688": Code(
        "Git gives no answer",
        "Git cannot be used in {path}: {problem}",
        "run the command in a clone of the repository, with `git` installed and allowed to read it",
        "cpuplan runs the program `git` and repeats what it says. In containers and CI, Git refuses a repository of "
        "another user until `safe.directory` names it.",
    ),
    "CP689": Code(
        "no such commit",
        "{ref} is not a commit in the repository of {path}",
        "correct the name, or fetch it: `git fetch origin`",
        "A branch of a remote needs the remote's name, such as `origin/main`. CI systems often fetch only the commit "
        "that they build: GitHub's `actions/checkout` fetches the others with `fetch-depth: 0`, GitLab with "
        '`GIT_DEPTH: "0"`.',
    ),
    "CP690": Code(
        "no common commit",
        "{ours} and {theirs} have no common commit here: {problem}",
        "fetch more history (`git fetch --unshallow`, or `git fetch --deepen=100`), or name a commit to compare with",
        "What a branch changes is what differs from the commit where it left the main branch. A shallow clone may not "
        "contain that commit.",
    ),
    "CP6110": Code(
        "too large in Git",
        "{path} is not read from Git: {problem}",
        "take what does not belong there out of the commit, or name another one",
        "An object of a few kilobytes in a repository can have gigabytes. cpuplan asks Git for the sizes before it reads "
        "anything: the limits are those of files on disk for one file, 512 MiB in all, and a million files.",
    ),
    "CP6111": Code(
        "name of two commits",
        "{ref} is the name of {names}",
        "give the whole name, such as `refs/heads/main` or `refs/remotes/origin/main`",
        "Git takes a tag before a branch of the same name. A tag called `origin/main` would otherwise decide what a change "
        "is compared with.",
    ),
    "CP6115": Code(
        "changed file of a paused class in this branch",
        "{path} of the paused {intent} is neither as in {commit}, where this branch left the main branch, nor what the "
        "inputs give",
        "restore the file (`git checkout {commit} -- {path}`) and its digest, or remove `paused: true` and compile",
        "The files of a paused intent are not made of the inputs, and their digests lie in the commit that may have changed "
        "them. So `compile --check` and `verify-output` compare them with the main branch.",
    ),
    "CP6116": Code(
        "unproven files of a paused class",
        "nothing shows that the files of {name} are those that were compiled before {intent} was paused: {problem}",
        "run the command in a clone with the history of the main branch (`git fetch --unshallow origin`), or compare the files "
        "with the last commit that you trust",
        "The files of a paused intent are not made of the inputs, and their digests lie in the commit that may have changed "
        "them. Without the commit where the branch left the main branch, there is nothing to compare them with. This is a "
        "warning, which no waiver covers: with `--strict`, it is an error.",
        "warning",
    ),
    # What is published: the branch, its commits, and where they come from.
    "CP691": Code(
        "unpublishable branch",
        "{branch} cannot be published to: {problem}",
        "{hint}",
        "`cpuplan publish` moves a branch without touching any index or work tree. If the branch were checked out "
        "somewhere, Git would show the published files as changed there. A name must be valid for a branch. A branch "
        "with inventories and intents of its own gets no files that these do not give.",
    ),
    "CP692": Code(
        "inputs in no commit",
        "{path} is {state}",
        "commit it first, also if Git ignores it, or publish with `--allow-dirty`: the message then says that "
        "the inputs are in no commit",
        "What is published names the commit of its inputs, so that anyone can compile it again and compare. Files "
        "under `inventories/`, `intents/` and `pods/` count, including the lock and files that Git ignores.",
    ),
    "CP693": Code(
        "nobody to commit as",
        "Git does not know who commits in {path}",
        "set `git config user.name` and `user.email` there, or the variables GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL, "
        "GIT_COMMITTER_NAME and GIT_COMMITTER_EMAIL",
        "cpuplan commits as whoever runs it, and invents no name. CI jobs usually have none.",
    ),
    "CP694": Code(
        "commit refused",
        "Git makes no commit in {path}: {problem}",
        "correct what Git says; with `commit.gpgsign`, the key must be usable here, and only your own configuration can "
        "name a program that signs (`git config --global gpg.program`)",
        "Commits are signed if `commit.gpgsign` is set. A repository cannot name the program, since whoever made it would "
        "run what they like. No branch was moved.",
    ),
    "CP695": Code(
        "branch moved",
        "{branch} was not moved to the new commit: {problem}",
        "run `cpuplan publish` again, after correcting what Git says if it says something else",
        "Another run or a person changed the branch in the meantime, or a lock of Git is in the way. Git compares where "
        "the branch is in the same step that moves it, so no commit is lost. A lock that a killed `publish` left is "
        "removed by the next one; of another's, cpuplan names the file. No hook runs.",
    ),
    "CP696": Code(
        "remote refused",
        "{branch} of {remote} was not reached or not changed: {problem}",
        "correct what Git says, then run `cpuplan publish` again",
        "With `--push`, the remote's branch is fetched first, the new commit goes on top of it, and the local branch "
        "moves only after the remote accepted the commit. Nothing is ever forced.",
    ),
    "CP697": Code(
        "branch changed by others",
        "{path} was {change} ({commit})",
        "{hint}",
        "A file that cpuplan published differs from the last commit that cpuplan made on the branch, or a file that it "
        "did not publish is where a published one belongs. Nothing was written.",
    ),
    "CP698": Code(
        "merge conflict",
        "{what}: {problem}",
        "{hint}",
        "Reported by `cpuplan merge-check`, which merges in memory and changes nothing. Conflicts in `out/` are not "
        "reported, because `cpuplan compile` writes it again after the merge.",
    ),
    "CP699": Code(
        "not what the inputs give",
        "{path} {problem}",
        "{hint}",
        "Reported by `cpuplan verify-output`. It compiles the project again, without records, and compares every file. "
        "A provenance statement names the SHA-256 of every published file and every input.",
    ),
    # How changes reach nodes, and delivery by Git: CP661 to CP665 and CP676 to CP679.
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
    # Objects that verify nodes, and the agent: CP670 to CP672, CP893, CP895, CP896, CP6140
    # and on.
    "CP670": Code(
        "different Jobs for one cluster",
        "verify.{key} is {mine}; intent {first}, for the same cluster {cluster}, says {other}",
        "write the same {key} in all intents of the cluster that have verify.waitFor",
        "One Job waits after each sync until all nodes of a cluster hold their plan, so its image, its namespace and "
        "its time are the same in all intents that ask for it.",
    ),
    "CP671": Code(
        "namespace of others",
        "verify.namespace {namespace} {problem}",
        "write a namespace that nothing else uses, such as cpuplan",
        "cpuplan creates the namespace, lets its pods mount folders of the host, and removes it once no intent has "
        "`verify`.",
    ),
    "CP672": Code(
        "expected state too large",
        "the expected state of class {name} has {size} kB; a ConfigMap has room for {limit} kB",
        "split the intent, so that its classes have fewer nodes or settings, or check its nodes from outside of the "
        "cluster with `cpuplan check`",
        "The agents of a class read what its nodes must show from a ConfigMap, whose size the API server limits.",
    ),
    "CP6140": Code(
        "token of agents not held to its node",
        "Kubernetes {version} cannot hold the token of an agent to its node: with verify.{fields}, one that is stolen "
        "can {power}",
        "leave out verify.condition and verify.events, and read the agents' metrics (verify.prometheus), until the "
        "cluster has Kubernetes 1.30",
        "From Kubernetes 1.30 on, tokens name the node of their pod, and cpuplan writes a ValidatingAdmissionPolicy by "
        "which an agent changes the condition CPUPlanHolds of its own node and nothing else. Releases before have "
        "neither; RBAC knows no fields of an object.",
        severity="warning",
    ),
    "CP6141": Code(
        "agents with more power",
        "with verify.access {access}, an agent that is taken over {power}",
        "leave out verify.access; with /var/lib/kubelet/config.yaml in verify.files, an agent verifies the kubelet's "
        "configuration without it where the file is readable for all",
        "An agent with `access: user` can change nothing on its node, as the kernel lets no other user write, and "
        "reads what any user may. docs/checking.md has a table of the facts that need more.",
        severity="note",
    ),
    "CP6142": Code(
        "metrics open to all pods",
        "the NetworkPolicy of the agents lets pods of every namespace connect to port {port}",
        "write verify.prometheus.namespace: the namespace of the Prometheus that reads the metrics",
        "The agents' metrics say which facts of the plan differ on which node. cpuplan does not know where a cluster's "
        "Prometheus runs.",
        severity="note",
    ),
    "CP6143": Code(
        "file that agents have already",
        "verify.files has {path}, which is {problem}",
        "take it out of verify.files",
        "Files of verify.files are mounted one by one, below folders that agents do not have. Folders, keys and "
        "sockets are none.",
    ),
    "CP893": Code(
        "not in this installation",
        "cpuplan {command} needs {module}, which is not installed here",
        "run it where cpuplan is installed with all packages that it needs",
        "The file that `cpuplan bundle` writes has the commands agent, check, explain and snapshot, for nodes. What "
        "needs models of documents, or the solver, is not in it.",
    ),
    "CP895": Code(
        "no API server",
        "conditions and events need the cluster's API server: {problem}",
        "run the agent as a pod with a service account, or without --condition and --events",
        "The agent uses the service account of its pod, and no kubeconfig.",
    ),
    "CP896": Code(
        "address in use",
        "cannot listen on {address}: {problem}",
        "give another address with --listen, or none with `--listen off`",
        "The agent serves /metrics, /healthz and /readyz at this address.",
    ),
}
