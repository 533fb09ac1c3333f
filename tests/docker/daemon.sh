# A Docker daemon for a suite; sourced after tests/suite.sh.
#
#   start_docker   uses the daemon that answers already, or starts one of its own by hand (as root)
#   stop_docker    ends the one it started, and nothing else; call it from the suite's EXIT trap
#
# Its own daemon has its own socket and data, and leaves the machine's firewall and forwarding as they are: published ports are then the
# port proxy's, on this machine only, and containers reach each other and nobody else.

docker_process=''

start_docker() {
    need docker docker.io
    docker info >/dev/null 2>&1 && echo "docker: the daemon that is running" && return
    [ "$(id -u)" = 0 ] || skip "no Docker daemon answers, and only root can start one"
    need dockerd docker.io
    # A socket's path may have 107 bytes, too few for some cache folders.
    docker_run=$(mktemp -d /tmp/ackdrop-docker.XXXXXX)
    docker_data=$(mktemp -d "$cache/docker-data.XXXXXX")
    export DOCKER_HOST=unix://$docker_run/docker.sock
    dockerd --host "$DOCKER_HOST" --data-root "$docker_data" --exec-root "$docker_run/exec" --pidfile "$docker_run/pid" \
        --storage-driver vfs --iptables=false --ip6tables=false --ip-masq=false --ip-forward=false >"$docker_run/log" 2>&1 &
    docker_process=$!
    # grep leaves at the line it wants, tail with the daemon or after half a minute.
    if ! grep -q 'API listen on' < <(exec timeout 30 tail -n +1 -f --pid $docker_process "$docker_run/log"); then
        grep -v level=info "$docker_run/log" | tail -n 5
        skip "dockerd does not start here (see above)"
    fi
    echo "docker: a daemon of its own, $(docker version --format '{{.Server.Version}}')"
}

stop_docker() {
    [ -n "$docker_process" ] || return 0
    kill "$docker_process" 2>/dev/null
    wait "$docker_process" 2>/dev/null
    docker_process=''
    rm -rf "$docker_run" "$docker_data"
}
