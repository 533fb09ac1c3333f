"""The lab on this machine: one PostgreSQL, one ackdrop, and worlds with an n8n each."""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).parent
SOURCE = HERE.parent.parent / 'docker' / 'n8n'
OWNER = {'emailOrLdapLoginId': 'owner@n8n.test', 'password': 'Lab-Passw0rd'}
# Where the lab without Docker listens.
USUAL = {'n8n': 5678, 'http': 8080, 'smtp': 1025, 'postgres': 54329}
# Longer than anything here takes on a busy machine, the mail that hangs apart.
PATIENCE = 120


class Broken(Exception):
    """Says that the lab itself does not work, so that nothing was tried."""


def free_port():
    """Finds a port below those that the system gives to clients: one of them could be taken before its server has come up."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(('127.0.0.1', port))
            return port


def until(what, done, patience=PATIENCE, pause=0.1):
    """Waits until `done` gives something true, and gives it."""
    end = time.monotonic() + patience
    while True:
        value = done()
        if value:
            return value
        if time.monotonic() > end:
            raise Broken(f'{what}: not within {patience} s')
        time.sleep(pause)


def ask(url, body=None, method=None, headers=None, timeout=PATIENCE, opener=None):
    """Asks once and gives (status, body), the body from JSON where it is JSON. A connection that breaks is status 0."""
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    head = {'content-type': 'application/json', **(headers or {})}
    request = urllib.request.Request(url, data=data, method=method, headers=head)
    try:
        with (opener or OPENER).open(request, timeout=timeout) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    except (urllib.error.URLError, OSError, EOFError) as error:
        return 0, str(error)
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text.decode(errors='replace')


# No proxy of this shell's.
DIRECT = urllib.request.ProxyHandler({})
OPENER = urllib.request.build_opener(DIRECT)


def settings():
    """Reads n8n.env as a shell would."""
    pairs = {}
    for line in (SOURCE / 'n8n.env').read_text().splitlines():
        if line and not line.startswith('#'):
            name, value = line.split('=', 1)
            pairs[name] = value.strip("'")
    return pairs


class Lab:
    """Is what the worlds share. Everything it starts it ends by process id."""

    def __init__(self, binary, node, n8n, postgres, keep=False, ports=None):
        self.keep = keep
        self.binary, self.node, self.n8n, self.pg_bin = binary, node, n8n, pathlib.Path(postgres)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='ackdrop-n8n.'))
        self.running, self.worlds = [], []
        ports = ports or {}
        self.pg_port, self.http, self.smtp = (ports.get(name) or free_port() for name in ('postgres', 'http', 'smtp'))
        self.url = f'http://127.0.0.1:{self.http}'

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        # The server refuses to run as root.
        as_nobody = ['setpriv', '--reuid', 'nobody', '--clear-groups'] if os.getuid() == 0 else []
        data = self.folder / 'postgres'
        data.mkdir()
        if as_nobody:
            self.folder.chmod(0o755)
            shutil.chown(data, 'nobody')
        made = [*as_nobody, self.pg_bin / 'initdb', '-D', data / 'data', '-U', 'postgres', '-A', 'trust', '-N', '-E', 'UTF8']
        subprocess.run(made, check=True, cwd='/', stdout=subprocess.DEVNULL)
        served = ['-p', str(self.pg_port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off', '-c', 'max_connections=200']
        self.spawn('postgres', [*as_nobody, self.pg_bin / 'postgres', '-D', data / 'data', *served])
        served = ['--http', f'127.0.0.1:{self.http}', '--https', 'off', '--smtp', f'127.0.0.1:{self.smtp}', '--smtps', 'off', '--ca', self.folder / 'ca',
                  '--seed', SOURCE / 'seed.json']
        self.spawn('ackdrop', [self.binary, 'serve', *served])
        until('ackdrop', lambda: ask(self.url + '/_ready')[0] == 200)
        until('PostgreSQL', lambda: subprocess.run([self.pg_bin / 'pg_isready', '-q', '-h', '127.0.0.1', '-p', str(self.pg_port)]).returncode == 0)
        self.sql('postgres', "CREATE ROLE lab LOGIN PASSWORD 'lab'")

    def spawn(self, name, command, env=None):
        log = open(self.folder / f'{name}.log', 'ab')
        process = subprocess.Popen(list(map(str, command)), cwd='/', env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.running.append(process)
        return process

    def sql(self, database, query, user='postgres'):
        command = ['psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-p', str(self.pg_port), '-U', user, '-d', database, '-c', query]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Broken(f'{query}: {done.stderr.strip()}')
        return done.stdout.strip()

    def __exit__(self, *_):
        for process in reversed(self.running):
            end(process)
        if self.keep:
            print(f'logs: {self.folder}')
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def end(process):
    """Ends a process and its group, first by asking."""
    for sign, patience in ((signal.SIGTERM, 15), (signal.SIGKILL, 15)):
        if process.poll() is not None:
            break
        try:
            os.killpg(process.pid, sign)
            process.wait(patience)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


class World:
    """Is one n8n with databases of its own, in a scope of ackdrop that has its name."""

    def __init__(self, lab, name, workflows, asleep=None, port=None):
        self.lab, self.name, self.workflows = lab, name, workflows
        # Workflows that a case activates for itself, by name.
        self.asleep = asleep or {}
        self.port, self.broker = port or free_port(), free_port()
        self.n8n_url = f'http://127.0.0.1:{self.port}'
        # Where a workflow is called that stands for another one: a mutant.
        self.instead = {}
        self.process = None
        # n8n binds a login to its cookie and to this header. Cookies know no ports, so each world has its own.
        self.browser = {'browser-id': f'lab-{name}'}
        self.opener = urllib.request.build_opener(DIRECT, urllib.request.HTTPCookieProcessor())

    @property
    def jobs_database(self):
        return f'lab_{self.name}'

    def env(self):
        home = self.lab.folder / self.name
        home.mkdir(exist_ok=True)
        own = {
            'N8N_USER_FOLDER': home, 'N8N_LISTEN_ADDRESS': '127.0.0.1', 'N8N_HOST': '127.0.0.1', 'N8N_PORT': self.port,
            'N8N_RUNNERS_BROKER_PORT': self.broker, 'WEBHOOK_URL': self.n8n_url + '/',
            'DB_TYPE': 'postgresdb', 'DB_POSTGRESDB_HOST': '127.0.0.1', 'DB_POSTGRESDB_PORT': self.lab.pg_port,
            'DB_POSTGRESDB_DATABASE': f'n8n_{self.name}', 'DB_POSTGRESDB_USER': 'lab', 'DB_POSTGRESDB_PASSWORD': 'lab',
            'LAB_POSTGRES_HOST': '127.0.0.1', 'LAB_POSTGRES_PORT': self.lab.pg_port, 'LAB_POSTGRES_DATABASE': self.jobs_database,
            'LAB_SMTP_HOST': '127.0.0.1', 'LAB_SMTP_PORT': self.lab.smtp, 'LAB_SMTP_USER': f'~{self.name}',
            'LAB_STRIPE_KEY': f'sk_test_~{self.name}', 'LAB_N8N_URL': self.n8n_url, 'ACKDROP_URL': f'{self.lab.url}/~{self.name}',
            'HTTPS_PROXY': self.lab.url, 'NO_PROXY': '127.0.0.1,localhost', 'NODE_EXTRA_CA_CERTS': self.lab.folder / 'ca' / 'ca.pem',
            'PATH': f'{self.lab.node.parent}:{os.environ["PATH"]}', 'HOME': home,
        }
        return {**settings(), **{name: str(value) for name, value in own.items()}}

    def cli(self, *arguments):
        command = [self.lab.node, self.lab.n8n, *arguments]
        env = {**self.env(), 'N8N_RUNNERS_BROKER_PORT': str(free_port())}
        done = subprocess.run(list(map(str, command)), cwd='/', env=env, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise Broken(f'n8n {" ".join(map(str, arguments))}: {done.stdout[-2000:]}{done.stderr[-2000:]}')

    def prepare(self):
        """Imports credentials and workflows, starts n8n and activates everything that has a trigger."""
        for database in (f'n8n_{self.name}', self.jobs_database):
            self.lab.sql('postgres', f'CREATE DATABASE {database} OWNER lab')
        self.lab.sql(self.jobs_database, (SOURCE / 'schema.sql').read_text(), user='lab')
        home = self.lab.folder / f'{self.name}-imported.json'
        home.write_text(json.dumps([*self.workflows, *self.asleep.values()]))
        for file in (SOURCE / 'credentials.json', HERE / 'credentials.json'):
            self.cli('import:credentials', f'--input={file}')
        self.cli('import:workflow', f'--input={home}')
        self.start()
        self.login()
        for flow in self.workflows:
            self.activate(flow['id'])
        for path in webhook_paths(self.workflows):
            self.until_listening(path)

    def start(self):
        self.process = self.lab.spawn(f'n8n-{self.name}', [self.lab.node, self.lab.n8n, 'start'], env=self.env())
        until('n8n', self.is_up, pause=0.25)

    def is_up(self):
        if self.process.poll() is not None:
            raise Broken(f'n8n ended: {(self.lab.folder / f"n8n-{self.name}.log").read_text()[-3000:]}')
        return ask(self.n8n_url + '/healthz/readiness')[0] == 200 and ask(self.n8n_url + '/rest/login')[0] in (200, 401)

    def kill(self):
        """Kills n8n as a crash does: at once, with its task runner."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def restart(self):
        self.start()
        for path in webhook_paths(self.workflows):
            self.until_listening(path)

    def login(self):
        status, body = ask(self.n8n_url + '/rest/login', OWNER, headers=self.browser, opener=self.opener)
        if status != 200:
            raise Broken(f'n8n login: {status} {body}')

    def rest(self, path, body=None, method=None):
        status, answer = ask(f'{self.n8n_url}/rest/{path}', body, method, self.browser, opener=self.opener)
        if status != 200:
            raise Broken(f'n8n {path}: {status} {answer}')
        return answer['data']

    def activate(self, id):
        version = self.rest(f'workflows/{id}')['versionId']
        self.rest(f'workflows/{id}/activate', {'versionId': version, 'name': 'lab', 'description': ''})

    def deactivate(self, id):
        version = self.rest(f'workflows/{id}')['versionId']
        self.rest(f'workflows/{id}/deactivate', {'versionId': version})

    def until_listening(self, path):
        # A GET at a hook for POST fires nothing, and its words tell whether the hook is there.
        until(f'webhook {path}', lambda: 'not registered for GET' in str(ask(f'{self.n8n_url}/webhook/{path}')[1]), pause=0.05)

    # What cases do.

    def reset(self):
        self.admin('_reset', {})
        self.lab.sql(self.jobs_database, 'TRUNCATE jobs')

    def admin(self, path, body=None, method=None, scope=None):
        """Calls ackdrop's admin API in this world's scope, or another."""
        status, answer = ask(f'{self.lab.url}/~{scope or self.name}/{path}', body, method)
        if not 200 <= status < 300:
            raise Broken(f'ackdrop {path}: {status} {answer}')
        return answer

    def fault(self, **rule):
        return self.admin('_faults', {'scope': self.name, **rule})

    def hook(self, path):
        return f'{self.n8n_url}/webhook/{self.instead.get(path, path)}'

    def post(self, path, **body):
        """Sends an event to a workflow and waits for its end; what n8n answers proves nothing."""
        return ask(self.hook(path), body)

    def sweep(self, **settings):
        status, answer = self.post('sweep', **settings)
        if status != 200:
            raise Broken(f'the sweep failed: {status} {answer}')

    def jobs(self, where='true'):
        return json.loads(self.lab.sql(self.jobs_database, f"SELECT coalesce(json_agg(j ORDER BY created_at), '[]') FROM jobs j WHERE {where}"))

    def change(self, changes):
        self.lab.sql(self.jobs_database, f'UPDATE jobs SET {changes}')

    def effects(self):
        return self.admin('_stats')['effects']

    def stats(self, provider):
        return self.admin('_stats')['providers'][provider]


def webhook_paths(workflows):
    """Lists the paths of all webhooks in workflows."""
    nodes = [node for flow in workflows for node in flow['nodes']]
    return [node['parameters']['path'] for node in nodes if node['type'] == 'n8n-nodes-base.webhook']


def workflows():
    """Reads the lab's workflows, by the first word of their file's name."""
    found = {}
    for file in sorted((SOURCE / 'workflows').glob('*.json')):
        found[re.sub(r'^\d+-', '', file.stem)] = json.loads(file.read_text())
    return found


def main():
    """Runs the lab on its usual ports until it is interrupted."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    node, n8n, postgres = map(pathlib.Path, sys.argv[1:])
    with Lab(os.environ['SUITE_BIN'], node, n8n, postgres, ports=USUAL) as here:
        world = World(here, 'default', list(workflows().values()), port=USUAL['n8n'])
        print('n8n imports the workflows, half a minute …', flush=True)
        world.prepare()
        print(f'n8n      {world.n8n_url}  (owner@n8n.test, Lab-Passw0rd)\nackdrop  {here.url}/_stats\n'
              f'jobs     psql -h 127.0.0.1 -p {here.pg_port} -U lab {world.jobs_database}\nThe lab is ready; Ctrl-C ends it.', flush=True)
        world.process.wait()
        sys.exit('n8n ended; its log: ' + (here.folder / 'n8n-default.log').read_text()[-2000:])


if __name__ == '__main__':
    main()
