import nodemailer from 'nodemailer'
import { describe, expect } from 'vitest'
import { test } from './ackdrop'

const orders = Array.from({ length: Number(process.env.ORDERS ?? 1) }, (_, order) => order)

describe.each(orders)('order %i', (order) => {
  test('a retry under its key charges once', async ({ ackdrop }) => {
    const charge = () =>
      fetch(`${ackdrop.url}/v1/charges`, {
        method: 'POST',
        headers: { ...ackdrop.headers, Authorization: 'Bearer sk_test_123', 'Idempotency-Key': `order-${order}` },
        body: new URLSearchParams({ amount: '1099', currency: 'usd', source: 'tok_visa' }),
      })
    await ackdrop.fault({ provider: 'stripe', mode: 'drop-after-commit', on: 1 })
    await expect(charge()).rejects.toThrow('fetch failed')
    expect(await (await charge()).json()).toMatchObject({ status: 'succeeded' })
    expect(await ackdrop.effects()).toEqual({ charge: 1 })
  })

  test('a mail whose answer is lost was sent', async ({ ackdrop }) => {
    const mail = { from: 'shop@example.com', to: 'b@example.com', subject: `Receipt ${order}`, text: 'Thank you.' }
    await ackdrop.fault({ provider: 'smtp', mode: 'drop-after-commit', on: 1 })
    await expect(nodemailer.createTransport(await ackdrop.smtp()).sendMail(mail)).rejects.toThrow('closed')
    expect(await ackdrop.effects()).toEqual({ message: 1, recipient: 1 })
  })
})
