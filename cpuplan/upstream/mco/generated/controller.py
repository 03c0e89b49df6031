"""What both controllers do with the objects of users: one event after the other."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from cpuplan.upstream.mco.errors import McoError
from cpuplan.upstream.mco.fields import mapping, text_mapping
from cpuplan.upstream.mco.generated.names import managed_name, suffix_of
from cpuplan.upstream.mco.generated.objects import SUFFIX, Generated, Source
from cpuplan.upstream.mco.pools import Object, name_of
from cpuplan.upstream.mco.releases import NEWEST, Release


class Controller(ABC):
    """The objects of one kind, and the MachineConfigs written of them.

    The operator handles the pools of an object in random order; here they are taken by name.
    """

    kind: str  # in the names of MachineConfigs

    def __init__(self, pools: Sequence[Object], release: Release = NEWEST) -> None:
        self.pools = sorted(pools, key=name_of)
        self.release = release
        self.sources: dict[str, Source] = {}
        self.machine_configs: dict[str, Generated] = {}
        self._created = 0

    def create(self, item: Object) -> None:
        """A user makes an object; McoError for one that is refused, which stays refused."""
        self._created += 1
        annotations = text_mapping(mapping(item, "metadata"), "annotations")
        source = Source(name_of(item), mapping(item, "spec"), annotations, self._created)
        self.sources[source.name] = source
        self.sync(source)

    def update(self, item: Object) -> None:
        """A user changes an object; McoError leaves its MachineConfigs as they are."""
        source = self.sources[name_of(item)]
        source.spec = mapping(item, "spec")
        self.sync(source)

    def delete(self, name: str) -> None:
        """A user removes an object, and the operator the MachineConfigs written of it."""
        source = self.sources.pop(name)
        for finalizer in source.finalizers:
            self.machine_configs.pop(finalizer, None)

    def sync(self, source: Source) -> None:
        """Writes what an object asks for; McoError for a refusal."""
        source.accepted = False
        self.validate(source.spec)
        pools = [pool for pool in self.pools if source.selects(pool)]
        if not pools:
            raise McoError("the object selects no pool", name=source.name)
        for pool in pools:
            self._write(source, pool)
        source.accepted = True

    def _write(self, source: Source, pool: Object) -> None:
        self.validate_for_pool(source.spec, pool)
        sources = self.sources.values()
        name = managed_name(pool, source, sources, self.machine_configs, self.kind)
        files = self.files(source.spec, pool)
        if source.suffix is None:
            # All other annotations are lost (MCO bug).
            source.annotations = {SUFFIX: suffix_of(name)}
        self.machine_configs[name] = Generated(name, name_of(pool), files, source.name)
        if name not in source.finalizers:
            source.finalizers.append(name)

    @abstractmethod
    def validate(self, spec: Object) -> None:
        """Raises McoError for a spec that no pool takes."""

    @abstractmethod
    def validate_for_pool(self, spec: Object, pool: Object) -> None:
        """Raises McoError for a spec that this pool does not take."""

    @abstractmethod
    def files(self, spec: Object, pool: Object) -> Mapping[str, str]:
        """The texts of the files for a pool; McoError where there are none."""
