# docker/compose.yaml; sourced by run. Takes the compose plugin, or Debian's docker-compose.

if docker compose version >/dev/null 2>&1; then
    compose=(docker compose)
else
    need docker-compose docker-compose
    compose=(docker-compose)
fi
echo "compose: $("${compose[@]}" version --short)"
compose() {
    IMAGE=$name:latest NETWORK=$name-clients HTTP_PORT=0 HTTPS_PORT=0 SMTP_PORT=0 SMTPS_PORT=0 ACKDROP_ADMIN_TOKEN=a-token \
        "${compose[@]}" --project-name "$name" --file "$root/docker/compose.yaml" "$@" 2>>"$work/compose.log"
}

begun=$(date +%s)
if compose up --detach --no-build; then
    composed=$(compose ps --quiet ackdrop)
    is "the compose file starts, and ackdrop is healthy with a token set" healthy "$(health "$composed")"
    http=http://127.0.0.1:$(port "$composed" 8080) inside=$(address "$composed" "$name-clients")
    curl --silent --fail --output /dev/null --header 'Authorization: Bearer a-token' "$http/_faults" \
        --data '{"mode": "drop-after-commit", "how": "reset", "on": 1}' || bad "a fault is armed through the published port"
    is "a client in its network sees the RST" "sent ended by RST" "$(client "$name-clients" call "$inside" 8080 "$charge" | xargs)"
    has "and finds it as \`ackdrop\`" "charge 1" "$(docker run --rm --network "$name-clients" "$name" stats --url http://ackdrop:8080 --token a-token 2>&1)"
    compose down --volumes >/dev/null
    is "compose takes all of it down" "" "$(docker container ls --all --quiet --filter "name=${name}_ackdrop" --filter "name=$name-ackdrop" && docker volume ls --quiet --filter "name=${name}_ca")"
else
    tail -n 20 "$work/compose.log"
    bad "the compose file starts"
fi
