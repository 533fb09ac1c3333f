# What the lab without Docker needs, for its tests and for trying it; sourced, never run, behind suite.sh. Sets
#
#   node       the binary of Node 24, which n8n 2 wants; npm has it as a package, whose preinstall script puts the binary there
#   n8n        n8n's program. Its own scripts are not run: with its database in PostgreSQL nothing of it needs a compiler
#   postgres   the folder of the server's programs

need python3 python3
need node nodejs
need npm npm
need psql postgresql-client
need setpriv util-linux
servers() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }
if [ -z "$(servers)" ]; then
    may_install || skip 'a PostgreSQL server is missing: apt-get install postgresql, or run tests/run --install'
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } >/dev/null || { echo 'apt-get install postgresql failed'; exit 1; }
fi
postgres=$(servers)

lock=$root/tests/n8n
fill_node() { cp "$lock"/node/package*.json "$1/" && npm ci --prefix "$1" --no-audit --no-fund && "$1/node_modules/.bin/node" --version; }
# npm's roll-back can lose a race where an earlier install was killed half-way: one retry.
fill_n8n() {
    cp "$lock"/package*.json "$1/"
    local try
    for try in 1 2; do
        PATH=$(dirname "$node"):$PATH npm ci --prefix "$1" --omit=dev --ignore-scripts --no-audit --no-fund && return
        rm -rf "$1/node_modules"
    done
    return 1
}
begun=$SECONDS
node=$(filled n8n-node fill_node "$lock"/node/package*.json) || { echo 'Node 24 could not be installed'; exit 1; }
node=$node/node_modules/.bin/node
n8n=$(filled n8n fill_n8n "$lock"/package*.json) || { echo 'n8n could not be installed'; exit 1; }
n8n=$n8n/node_modules/n8n/bin/n8n
echo "n8n $("$node" -p "require('$(dirname "$n8n")/../package.json').version") on Node $("$node" --version), there after $((SECONDS - begun)) s"
