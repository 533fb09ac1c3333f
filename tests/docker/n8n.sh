# docker/n8n/compose*.yaml; sourced by run, after compose.sh. ackdrop is the real one; PostgreSQL is this machine's, in an image of its own;
# n8n is a stand-in that keeps what it was asked. That the real n8n runs the workflows is tests/n8n.

need node nodejs
servers() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }
[ -n "$(servers)" ] || need psql postgresql
server=$(servers)
[ -n "$server" ] || skip 'a PostgreSQL server is missing: apt-get install postgresql'

# Lays out a root file system: programs of this machine with their libraries, busybox as the shell, and a user.
lay_out() {
    local into=$1 user=$2 id=$3 program
    shift 3
    mkdir -p "$into"/{bin,etc,tmp,usr/bin}
    chmod 1777 "$into/tmp"
    cp "$(command -v busybox)" "$into/bin/"
    for program in $(busybox --list | grep -vx busybox); do ln -sf busybox "$into/bin/$program"; done
    cp --parents --dereference $(ldd "$@" | grep -o '/[^ ]*\.so[^ ]*' | grep -v ':$' | sort -u) "$into"
    cp --parents --dereference "$@" "$into"
    echo "$user:x:$id:$id::/home/$user:/bin/sh" >"$into/etc/passwd"
    echo "$user:x:$id:" >"$into/etc/group"
    mkdir -p "$into/home/$user"
}
# Builds $name-$1 from the folder of that name; the other arguments are lines of its Dockerfile.
image() {
    tar --create --file "$work/$1.context/root.tar" --directory "$work/$1" . &&
        printf '%s\n' 'FROM scratch' 'ADD root.tar /' "${@:2}" >"$work/$1.context/Dockerfile" &&
        docker build --quiet --tag "$name-$1" "$work/$1.context" >/dev/null 2>>"$work/docker.log" || bad "the image $1 is built"
}
mkdir "$work"/{postgres,n8n}.context

lay_out "$work/postgres" postgres 999 "$server"/{postgres,initdb,psql,pg_ctl,pg_isready}
share=$("$server/pg_config" --sharedir)
cp --parents --recursive --dereference "$("$server/pg_config" --pkglibdir)" "$share" /usr/share/zoneinfo "$work/postgres"
cp "$here/stand-in-postgres/entrypoint" "$work/postgres/usr/bin/docker-entrypoint.sh"
mkdir -p "$work/postgres/var/lib/postgresql/data" "$work/postgres/var/run/postgresql"
chown -R 999:999 "$work"/postgres/var/{lib,run}/postgresql
image postgres "ENV PATH=$server:/usr/bin:/bin PGDATA=/var/lib/postgresql/data" 'VOLUME /var/lib/postgresql/data' 'USER 999:999' 'STOPSIGNAL SIGINT' \
    'ENTRYPOINT ["docker-entrypoint.sh"]' 'CMD ["postgres", "-c", "listen_addresses=*"]'

lay_out "$work/n8n" node 1000 "$(realpath "$(command -v node)")" "$(realpath "$(command -v curl)")"
cp "$here/stand-in-n8n/n8n" "$work/n8n/usr/bin/"
mkdir "$work/n8n/home/node/.n8n"
chown -R 1000:1000 "$work/n8n/home/node"
image n8n "ENV PATH=$(dirname "$(realpath "$(command -v node)")"):/usr/bin:/bin" 'USER node' 'WORKDIR /home/node' 'ENTRYPOINT ["false"]'

# docker-compose 1 knows no `name:` in a file. Its place is taken by --project-name here, whichever compose it is.
for file in compose compose.proxy; do sed '/^name: /d' "$root/docker/n8n/$file.yaml" >"$work/$file.yaml"; done
lab() {
    IMAGE=$name:latest POSTGRES_IMAGE=$name-postgres N8N_IMAGE=$name-n8n HTTP_PORT=0 N8N_PORT=0 \
        "${compose[@]}" --project-name "$name" --project-directory "$root/docker/n8n" --file "$work/compose.yaml" "$@" 2>>"$work/compose.log"
}
in_n8n() { docker exec "$n8n" "$@" 2>&1; }
# Asks for the customer of workflow 3, trusting nothing but the CA of the volume. Prints its name, curl's exit code, CONNECT's status and the port.
asks() {
    in_n8n sh -c 'curl --silent --cacert $NODE_EXTRA_CA_CERTS --user sk_test_lab: --write-out "\n%{exitcode} %{http_connect} %{remote_port}\n" "$@"' sh "$@" \
        https://api.stripe.com/v1/customers/cus_lab | sed -n -e 's/^  "name": "\(.*\)",$/\1/p' -e '/^[0-9]* [0-9]* [0-9-]*$/p' | xargs
}
query() { docker exec "$postgres" psql -X -A -t "postgresql://lab:lab@postgres/$1" -c "$2" 2>&1; }

is "the lab's files are valid, the proxy's laid over" HTTPS_PROXY "$(lab --file "$work/compose.proxy.yaml" config | grep -o HTTPS_PROXY)"
begun=$(date +%s.%N)
if lab up --detach --no-build; then
    n8n=$(lab ps --quiet n8n) postgres=$(lab ps --quiet postgres)
    is "the lab starts: n8n last, when PostgreSQL and ackdrop are healthy" healthy "$(health "$n8n")"
    published=$(sed -n 's/^  "id": "\(.*\)",$/publish:workflow --id=\1/p' "$root"/docker/n8n/workflows/*.json)
    is "every workflow has an id" "$(ls "$root/docker/n8n/workflows" | wc -l)" "$(echo "$published" | wc -l)"
    asked=$(printf '%s\n' 'import:credentials --input=/lab/credentials.json' 'import:workflow --separate --input=/lab/workflows' "$published" start)
    is "n8n imports the lab and publishes every workflow" "$asked" "$(in_n8n cat .n8n/calls)"
    is "a quoted \$ in n8n.env arrives as it stands" "$(sed -n "s/^N8N_INSTANCE_OWNER_PASSWORD_HASH='\(.*\)'$/\1/p" "$root/docker/n8n/n8n.env")" \
        "$(in_n8n sh -c 'echo "$N8N_INSTANCE_OWNER_PASSWORD_HASH"')"
    is "inside, https://api.stripe.com is ackdrop" "Lab 0 000 443" "$(asks)"
    is "PostgreSQL has the table of jobs" 0 "$(query lab 'SELECT count(*) FROM jobs')"
    is "and n8n's own database, empty" 0 "$(query n8n "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")"

    docker kill "$n8n" >/dev/null
    docker wait "$n8n" >/dev/null
    begun=$(date +%s.%N)
    docker start "$n8n" >/dev/null
    is "n8n is healthy again after a crash" healthy "$(health "$n8n")"
    is "and imports nothing twice" "$asked"$'\nstart' "$(in_n8n cat .n8n/calls)"

    begun=$(date +%s.%N)
    lab --file "$work/compose.proxy.yaml" up --detach --no-build >/dev/null
    n8n=$(lab ps --quiet n8n)
    is "the lab goes over to the proxy" healthy "$(health "$n8n")"
    is "which keeps what was imported" "$asked"$'\nstart\nstart' "$(in_n8n cat .n8n/calls)"
    is "https://api.stripe.com is reached by CONNECT" "Lab 0 200 8080" "$(asks)"
    has "and in no other way" "7 000" "$(asks --noproxy '*')"
    lab down --volumes >/dev/null
    is "the lab is taken down, volumes and all" "" "$(docker_objects container --all --filter label=com.docker.compose.service=n8n && docker volume ls --quiet --filter "name=${name}_n8n" --filter "name=${name}_postgres")"
else
    lab logs --no-color | tail -n 40
    bad "the lab starts" "$(tail -n 1 "$work/compose.log")"
fi
