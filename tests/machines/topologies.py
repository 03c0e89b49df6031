"""XML as hwloc writes it, of small made-up machines: elements that functions put together."""

from cpuplan.base.cpuset import CpuSet

DOCTYPES = {"1": "hwloc.dtd", "2.0": "hwloc2.dtd", "3.0": "hwloc2.dtd"}


def cpuset(cpus: str) -> str:
    """`0x00000003` for 0-1."""
    return ",".join(f"0x{word}" for word in CpuSet.parse(cpus).mask().split(","))


def info(name: str, value: str) -> str:
    return f'<info name="{name}" value="{value}"/>'


def thing(kind: str, cpus: str | None = None, inside: str = "", **attributes: object) -> str:
    """An object; `cpus` gives it its sets, and attributes end in _ where Python needs it."""
    words = {"type": kind}
    if cpus is not None:
        words |= {"cpuset": cpuset(cpus), "complete_cpuset": cpuset(cpus)}
    words |= {name.rstrip("_"): str(value) for name, value in attributes.items()}
    listed = " ".join(f'{name}="{value}"' for name, value in words.items())
    return f"<object {listed}>\n{inside}</object>\n"


def node(number: int, cpus: str, inside: str = "", **attributes: object) -> str:
    return thing(
        "NUMANode", cpus, inside, os_index=number, nodeset=f"0x{1 << number:x}", **attributes
    )


def core(number: int, *cpus: int) -> str:
    units = "".join(thing("PU", str(cpu), os_index=cpu) for cpu in cpus)
    return thing("Core", ",".join(map(str, cpus)), units, os_index=number)


def topology(inside: str, after: str = "", version: str = "2.0") -> str:
    """A file: objects in `inside`, and what versions 2 and 3 have after them."""
    told = "" if version == "1" else f' version="{version}"'
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<!DOCTYPE topology SYSTEM "{DOCTYPES[version]}">\n'
    )
    return f"{head}<topology{told}>\n{inside}{after}</topology>\n"


def server(version: str = "2.0", after: str = "") -> str:
    """Two packages, each of two cores with two threads, a NUMA node, an L3 and a network port."""
    port = "16" if version == "3.0" else "2"
    packages = ""
    for number, cpus in enumerate(("0,2,4,6", "1,3,5,7")):
        cores = "".join(
            core(index, 2 * index + number, 2 * index + number + 4) for index in range(2)
        )
        interface = thing(
            "OSDev",
            name=f"ens{number}f0",
            osdev_type=port,
            inside=info("Address", "c4:cb:e1:a7:42:9c"),
        )
        address = f"0000:{number}1:00.0"
        function = thing(
            "PCIDev",
            inside=interface,
            pci_busid=address,
            pci_type="0200 [8086:1593] [8086:0000] 02",
        )
        bridge = thing("Bridge", inside=function, bridge_type="0-1", bridge_pci="0000:[00-ff]")
        cache = {"cache_size": 32 << 20, "depth": 3, "cache_type": 0, "os_index": number}
        pages = '<page_type size="4096" count="0"/><page_type size="2097152" count="8"/>'
        third = thing("Cache" if version == "1" else "L3Cache", cpus, cores, **cache)
        model = info("CPUVendor", "GenuineIntel") + info("CPUModel", "Intel(R) Xeon(R)  Gold 6330 ")
        own = model + info("CPUModelNumber", "106")
        if version == "1":
            memory = node(number, cpus, pages + third + bridge, local_memory=1 << 30)
            packages += thing("Socket", cpus, own + memory, os_index=number)
        else:
            memory = node(number, cpus, pages, local_memory=1 << 30)
            packages += thing("Package", cpus, own + memory + third + bridge, os_index=number)
    host = info("Architecture", "x86_64") + info("HostName", "Worker-7")
    inside = packages if version == "3.0" else host + packages
    return topology(
        thing("Machine", "0-7", inside, os_index=0),
        (host if version == "3.0" else "") + after,
        version,
    )
