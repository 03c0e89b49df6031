#!/bin/sh
# Stands in for grub-probe: the root file system is on a disk of its own.
case " $* " in
*"=device "*) echo /dev/vda ;;
*"=fs "*) echo ext2 ;;
*"=fs_uuid "*) echo 00000000-0000-0000-0000-000000000000 ;;
esac
