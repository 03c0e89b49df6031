"""The MachineConfigs that the operator writes of KubeletConfigs and ContainerRuntimeConfigs."""
