# Installs the Stripe SDKs, each by its own lock; sourced after suite.sh. `filled clients/stripe-go fill_go FILE…` gives the folder.
stripe_sdks=$root/tests/clients/stripe

need_python() {
    need python3 python3
    python3 -c 'import ensurepip, venv' 2>/dev/null || { may_install && apt-get install -y -qq python3-venv >/dev/null; } || skip 'python3 lacks venv: apt-get install python3-venv'
}

# Each takes the folder it fills.
fill_node() { cp "$stripe_sdks"/node/package*.json "$1" && npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund; }
fill_python() {
    python3 -m venv "$1" &&
        "$1/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r "$stripe_sdks/python/requirements.txt"
}
fill_go() { cd "$stripe_sdks/go" && go build -mod=readonly -o "$1/client" .; }
fill_java() {
    mvn --quiet --batch-mode --strict-checksums -f "$stripe_sdks/java/pom.xml" dependency:copy-dependencies -DoutputDirectory="$1/lib" &&
        javac --release 11 -cp "$1/lib/*" -d "$1/classes" "$stripe_sdks/java/Client.java"
}

# The folder of one of them.
sdk() { filled "clients/stripe-$1" "fill_$1" "$stripe_sdks/$1"/*; }
