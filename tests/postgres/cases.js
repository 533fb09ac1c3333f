// node-postgres through the relay: `cases.js SERVER RELAY ADMIN`. Prints a line a case.
import assert from 'node:assert/strict'
import pg from 'pg'

const [server, relay, admin] = process.argv.slice(2)
const own = { host: '127.0.0.1', user: 'postgres', database: 'postgres' }
const ca = await (await fetch(`${admin}/_ca.pem`)).text()
const claim = "INSERT INTO claims VALUES ($1, 'x') ON CONFLICT DO NOTHING RETURNING id"

async function call(method, path, body) {
  const answer = await fetch(admin + path, { method, body: body && JSON.stringify(body) })
  assert.ok(answer.ok, await answer.clone().text())
  return answer.json()
}

/** Uses a client of its own for some work, which may end with the connection. */
async function using(settings, work) {
  const client = new pg.Client({ ...own, ...settings })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

const direct = (work) => using({ port: Number(server) }, work)
const rows = () => direct(async (c) => Number((await c.query('SELECT count(*) FROM claims')).rows[0].count))

/** Runs a case through the relay, plain and inside TLS, over an empty table and a new ledger. */
async function both(name, rule, work) {
  for (const [how, ssl] of [['plain', false], ['TLS', { ca, servername: 'localhost' }]]) {
    try {
      await direct((c) => c.query('TRUNCATE claims'))
      await call('POST', '/_reset')
      if (rule) await call('POST', '/_faults', { provider: 'pg', ...rule })
      await work((inner) => using({ port: Number(relay), ssl }, inner))
      const { effects = {} } = (await call('GET', '/_stats')).providers.pg
      assert.equal(effects.row ?? 0, await rows(), 'the ledger has the rows that the database has')
      console.log(`ok ${name} (${how})`)
    } catch (error) {
      console.log(`FAIL ${name} (${how}): ${error.message.replaceAll('\n', ' ')}`)
    }
  }
}

/** Expects an end of the connection, and no error of the server's. */
const lost = (work) => assert.rejects(work, (error) => error.severity === undefined)

await direct((c) => c.query('CREATE TABLE claims (id int PRIMARY KEY, word text)'))

await both('a lost answer, and a retry that returns no row', { mode: 'drop-after-commit', on: 1 }, async (through) => {
  await lost(through((c) => c.query(claim, [1])))
  assert.equal(await rows(), 1)
  assert.equal((await through((c) => c.query(claim, [1]))).rowCount, 0)
})

await both('the same by RST', { mode: 'drop-after-commit', how: 'reset', on: 1 }, async (through) => {
  await lost(through((c) => c.query(claim, [1])))
  assert.equal((await through((c) => c.query(claim, [1]))).rowCount, 0)
})

await both('the same in a transaction', { mode: 'drop-after-commit', sql: 'insert*', on: 1 }, async (through) => {
  const transact = async (c) => {
    await c.query('BEGIN')
    const inserted = await c.query(claim, [1])
    await c.query('COMMIT')
    return inserted.rowCount
  }
  await lost(through(transact))
  assert.equal(await rows(), 1)
  assert.equal(await through(transact), 0)
})

await both('a named statement that is kept back', { mode: 'fail-before-forward', sql: 'insert into claims *', on: 2 }, async (through) => {
  await lost(
    through(async (c) => {
      const named = (id) => c.query({ name: 'claim', text: claim, values: [id] })
      assert.equal((await named(1)).rowCount, 1)
      await named(2)
    }),
  )
  assert.equal(await rows(), 1)
})

await both('a refusal, after which the connection serves on', { mode: 'refuse', code: '40001', on: 1 }, async (through) => {
  await through(async (c) => {
    await assert.rejects(c.query(claim, [1]), { code: '40001' })
    assert.equal((await c.query(claim, [1])).rowCount, 1)
  })
})

await both('several statements, an error among them', null, async (through) => {
  await through(async (c) => {
    await assert.rejects(c.query("INSERT INTO claims VALUES (1, 'x'); SELECT 1/0"), { code: '22012' })
    await assert.rejects(c.query("BEGIN; INSERT INTO claims VALUES (2, 'x'); COMMIT; SELECT 1/0"), { code: '22012' })
  })
  assert.equal(await rows(), 1)
})

await both('a pool of ten with a hundred inserts', null, async (through) => {
  await through(async () => {})
  const pool = new pg.Pool({ ...own, port: Number(relay), max: 10 })
  await Promise.all(Array.from({ length: 100 }, (_, id) => pool.query(claim, [id])))
  await pool.end()
  assert.equal(await rows(), 100)
})
