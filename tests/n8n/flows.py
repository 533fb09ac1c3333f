"""Workflows made from the lab's own: with a crash built in, and with one guard broken."""

import copy
import json
import pathlib

import lab

HERE = pathlib.Path(__file__).parent


def of_tests():
    """Reads the workflows that only the tests use, by name."""
    return {file.stem: json.loads(file.read_text()) for file in sorted((HERE / 'workflows').glob('*.json'))}


def made_from(flow, suffix):
    """Copies a workflow under another id, with webhooks of its own."""
    made = copy.deepcopy(flow)
    made['id'] = f'{flow["id"][:8]}{suffix}'
    made['name'] = f'{flow["name"]} ({suffix})'
    for node in made['nodes']:
        if node['type'] == 'n8n-nodes-base.webhook':
            node['parameters']['path'] += f'-{suffix}'
            node['webhookId'] += f'-{suffix}'
    return made


def node(flow, name):
    found = [node for node in flow['nodes'] if node['name'] == name]
    assert len(found) == 1, f'{flow["name"]} has {len(found)} nodes `{name}`'
    return found[0]


def insert(flow, after, name, kind, version, parameters, **more):
    """Puts a node on the first way out of another one."""
    outs = flow['connections'][after]['main']
    flow['connections'][name] = {'main': [outs[0]]}
    outs[0] = [{'node': name, 'type': 'main', 'index': 0}]
    added = {'id': f'{flow["id"]}-{name}', 'name': name, 'type': f'n8n-nodes-base.{kind}', 'typeVersion': version, 'position': [0, 600], 'parameters': parameters}
    flow['nodes'].append({**added, **more})
    return flow


def throws(flow, after):
    """Ends the execution behind a node, as a crash of the workflow does."""
    return insert(flow, after, 'Crash', 'stopAndError', 1, {'errorMessage': 'thrown by the test'})


def waits_for_lock(flow, after):
    """Stops behind a node until the test gives up the advisory lock 17."""
    query = "SELECT $1::text AS key FROM (SELECT pg_advisory_xact_lock_shared(17)) waited"
    parameters = {'operation': 'executeQuery', 'query': query, 'options': {'queryReplacement': '={{ [$json.key] }}'}}
    return insert(flow, after, 'Wait for the test', 'postgres', 2.6, parameters, credentials=node(flow, 'Claim')['credentials'])


def unscheduled(flow):
    """Takes a workflow's clock away, so that only the tests start it."""
    for one in flow['nodes']:
        if one['type'] == 'n8n-nodes-base.scheduleTrigger':
            one['disabled'] = True
    return flow


def every_second(flow):
    node(flow, 'Every 15 minutes')['parameters']['rule'] = {'interval': [{'field': 'seconds', 'secondsInterval': 1}]}
    return flow


# What breaks a guard.


def always(flow, gate):
    """Lets everybody through an IF."""
    node(flow, gate)['parameters']['conditions']['conditions'][0]['leftValue'] = '={{ true }}'
    return flow


def edited(flow, name, old, new, field='query'):
    """Changes the text of a node's query or of its parameters for it."""
    parameters = node(flow, name)['parameters']
    where = parameters if field == 'query' else parameters['options']
    assert old in where[field], f'{flow["name"]}, {name}: no `{old}`'
    where[field] = where[field].replace(old, new)
    return flow


def mails_again(sweeper):
    """Lets the sweeper send a mail again that it is not sure of."""
    edited(sweeper, 'Take', "WHEN class = 'key-advisory' THEN 'review'", "WHEN class = 'key-advisory' THEN 'mail again'")
    rules = node(sweeper, 'Route')['parameters']['rules']['values']
    rule = copy.deepcopy(rules[0])
    rule['outputKey'] = rule['conditions']['conditions'][0]['rightValue'] = 'mail again'
    rules.append(rule)
    mail = copy.deepcopy(node(lab.workflows()['mail'], 'Mail'))
    mail['name'], mail['parameters']['toEmail'], mail['parameters']['subject'] = 'Mail again', '={{ $json.payload.email }}', '=Receipt [ref:{{ $json.key }}]'
    sweeper['nodes'].append(mail)
    sweeper['connections']['Route']['main'].append([{'node': 'Mail again', 'type': 'main', 'index': 0}])
    return sweeper
