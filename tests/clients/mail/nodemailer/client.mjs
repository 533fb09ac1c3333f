// Sends one mail a line of stdin ("login<TAB>timeout in ms") and says what it saw; `pool` as the second argument keeps connections.
import { createInterface } from 'node:readline'
import nodemailer from 'nodemailer'

const [port, pool] = process.argv.slice(2)

async function send(user, timeout) {
  const transport = nodemailer.createTransport({
    host: '127.0.0.1',
    port: Number(port),
    pool: pool === 'pool',
    auth: { user, pass: 'secret' },
    socketTimeout: timeout,
  })
  try {
    await transport.sendMail({ from: 'a@example.com', to: 'b@example.com', subject: 'Receipt 17', text: 'Thank you.' })
    return 'ok'
  } catch (error) {
    if (error.code === 'EMESSAGE') return `EMESSAGE, responseCode ${error.responseCode}`
    return [error.code, error.message].filter(Boolean).join(': ')
  } finally {
    transport.close()
  }
}

console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const [user, timeout] = line.split('\t')
  console.log((await send(user, Number(timeout))).split(/[\r\n]/)[0])
}
