#!/bin/sh
# The first process of a private world in which a real `systemd --user` runs, on a machine whose own PID 1 need not be
# systemd. Started by private_manager.py inside fresh mount, pid, cgroup, uts and ipc namespaces; everything it
# mounts vanishes with it.
#
#   WORLD_USER, WORLD_UID   the throwaway user; not 61184 to 65519, whose lines journald files as the system's
#   WORLD_COVER             folders, one a line, that others may not enter (/root): covered by an empty one
#   WORLD_SHOW              folders, one a line, to show all the same (the interpreter)
#   WORLD_PACKAGES          folders, one a line, to show as /run/world/packages/1, 2, …: the dependencies often lie
#                           below /tmp, which the sandbox of the service hides
set -eu

runtime=/run/user/$WORLD_UID
home=/home/$WORLD_USER

empty() { mount -t tmpfs -o "mode=$2" tmpfs "$1"; }

as_user() {
    setpriv --reuid "$WORLD_UID" --regid "$WORLD_UID" --clear-groups env -i \
        HOME="$home" USER="$WORLD_USER" LOGNAME="$WORLD_USER" SHELL=/bin/sh LANG=C.UTF-8 \
        PATH=/usr/local/bin:/usr/bin:/bin XDG_RUNTIME_DIR="$runtime" \
        DBUS_SESSION_BUS_ADDRESS="unix:path=$runtime/bus" "$@"
}

mount --make-rprivate /

# --- folders of our own ---
empty /run 755
empty /home 755
# journald splits the journal by user only when it is persistent, and `journalctl --user` reads only a split one
empty /var/log 755
mkdir -p /run/world/show /run/lock /run/log /run/systemd/system /run/systemd/user /run/systemd/journal \
    /run/systemd/journald.conf.d /var/log/journal
# PID 1 makes these two on a normal machine: without them every mount sandbox and LoadCredential= end 226/NAMESPACE
mkdir -m 700 /run/systemd/unit-root
mkdir /run/credentials
# else journald goes on with its volatile journal, which is not split
touch /run/systemd/journal/flushed
printf '[Journal]\nStorage=persistent\nSplitMode=uid\nRateLimitIntervalSec=0\n' >/run/systemd/journald.conf.d/world.conf

# --- what the kernel shows ---
# Unmounted, not covered: sandboxed units refuse a second mount on top ("Operation not supported").
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
umount -l /proc
mount -t proc proc /proc

# --- a /dev that sandboxes can copy from: PrivateDevices= wants the usual mount points ---
dev=/run/world/dev
mkdir -p $dev
empty $dev 755
for node in null zero full random urandom tty; do
    touch $dev/$node
    mount --bind /dev/$node $dev/$node
done
mkdir $dev/pts $dev/shm $dev/mqueue $dev/hugepages
ln -s pts/ptmx $dev/ptmx
ln -s /proc/self/fd $dev/fd
ln -s /proc/self/fd/0 $dev/stdin
ln -s /proc/self/fd/1 $dev/stdout
ln -s /proc/self/fd/2 $dev/stderr
ln -s /run/systemd/journal/dev-log $dev/log
umount -l -R /dev
mount --move $dev /dev
empty /dev/shm 1777
mount -t devpts -o newinstance,mode=620,ptmxmode=666 devpts /dev/pts
mount -t mqueue mqueue /dev/mqueue

# --- the user ---
for file in passwd group; do cp -a /etc/$file /run/world/$file; done
echo "$WORLD_USER:x:$WORLD_UID:$WORLD_UID::$home:/bin/sh" >>/run/world/passwd
echo "$WORLD_USER:x:$WORLD_UID:" >>/run/world/group
for file in passwd group; do mount --bind /run/world/$file /etc/$file; done
install -d -m 700 -o "$WORLD_UID" -g "$WORLD_UID" "$home"
mkdir -p /run/user
install -d -m 700 -o "$WORLD_UID" -g "$WORLD_UID" "$runtime"

# --- the dependencies ---
lines() { printf '%s\n' "$1" | sed '/^$/d'; }
lines "$WORLD_PACKAGES" >/run/world/package-folders
count=0
while IFS= read -r folder; do
    count=$((count + 1))
    mkdir -p "/run/world/packages/$count"
    mount --bind "$folder" "/run/world/packages/$count"
done </run/world/package-folders

# --- closed folders, with the interpreter shown through them ---
count=0
lines "$WORLD_SHOW" >/run/world/shown
while IFS= read -r folder; do
    count=$((count + 1))
    mkdir "/run/world/show/$count"
    mount --rbind "$folder" "/run/world/show/$count"
done </run/world/shown
lines "$WORLD_COVER" >/run/world/covered
while IFS= read -r folder; do empty "$folder" 755; done </run/world/covered
count=0
while IFS= read -r folder; do
    count=$((count + 1))
    mkdir -p "$folder"
    mount --move "/run/world/show/$count" "$folder"
done </run/world/shown

# As PID 1 leaves it on a normal machine: what is mounted later reaches the services' own namespaces.
mount --make-rshared /

# --- control groups: exactly this shape, or journald cannot tell which user unit a line came from ---
cd /sys/fs/cgroup
slice=user.slice/user-$WORLD_UID.slice/user@$WORLD_UID.service
mkdir -p keeper.scope "$slice"
echo $$ >keeper.scope/cgroup.procs
for controller in $(cat cgroup.controllers); do
    echo "+$controller" >cgroup.subtree_control 2>/dev/null || true
done
for file in '' /cgroup.procs /cgroup.subtree_control /cgroup.threads; do
    chown "$WORLD_UID:$WORLD_UID" "$slice$file"
done
cd /

# --- the journal, then the manager ---
/lib/systemd/systemd-journald &
tries=0
until [ -S /run/systemd/journal/stdout ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "journald did not start"; exit 1; }
    sleep 0.05
done
# other people's sockets, which would only fail here
for unit in dirmngr.socket gpg-agent.socket gpg-agent-browser.socket gpg-agent-extra.socket gpg-agent-ssh.socket \
    pk-debconf-helper.socket; do
    ln -s /dev/null "/run/systemd/user/$unit"
done
(
    sh -c 'echo $PPID' >"/sys/fs/cgroup/$slice/cgroup.procs"
    as_user /lib/systemd/systemd --user --log-target=journal
) &
manager=$!
set +e
wait $manager
echo "the manager ended with $?"
# As the first process ends, the kernel ends everything else in here.
