"""What is checked of a kubelet, in the order of the answers."""

from cpuplan.check.kubelet import configuration, folder, running, statefiles, unit

STEPS = (
    running.runs,
    folder.folder,
    unit.unit,
    configuration.configuration,
    running.restarted,
    statefiles.states,
)
