// Gives each vitest worker a world of its own in one running ackdrop, and each test a fresh one.
import { test as base } from 'vitest'

const url = process.env.ACKDROP_URL ?? 'http://localhost:8080'
const scope = `w${process.env.VITEST_POOL_ID}`
const headers = { 'X-Ackdrop-Scope': scope }
const call = async (path: string, init?: RequestInit) => (await fetch(url + path, { headers, ...init })).json()

const ackdrop = {
  url,
  scope,
  headers,
  fault: (rule: object) => call(`/_faults?scope=${scope}`, { method: 'POST', body: JSON.stringify(rule) }),
  effects: async () => (await call(`/_stats?scope=${scope}`)).effects,
  smtp: async () => `smtp://~${scope}:any@${(await call('/_addresses')).smtp}`,
}

export const test = base.extend<{ ackdrop: typeof ackdrop }>({
  ackdrop: async ({}, use) => {
    await call(`/_reset?scope=${scope}`, { method: 'POST' })
    await use(ackdrop)
  },
})
