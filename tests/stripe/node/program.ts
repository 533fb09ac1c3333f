// Does the program of ../README.md with stripe for Node. usage: program.js URL LAGGING SCOPE
import assert = require('node:assert/strict');
import http = require('node:http');
import type { AddressInfo } from 'node:net';
import Stripe from 'stripe';

const [url, lagging, scope] = process.argv.slice(2) as [string, string, string];

function at(base: string): Stripe {
  const { hostname: host, port } = new URL(base);
  return new Stripe(`sk_test_~${scope}`, { host, port, protocol: 'http' });
}

const FORM = 'application/x-www-form-urlencoded';
const noRedirects = { enabled: true, allow_redirects: 'never' } as const;
const stripe = at(url);
const email = `${scope}@example.com`;
const ids = (list: { data: { id: string }[] }) => list.data.map((each) => each.id);
/** What the steps hand on to each other. */
const made = { customer: '', method: '', intent: '', charge: '', monthly: '', single: '' };
for (const name of Object.keys(made)) {
  Object.defineProperty(made, name, {
    get: () => assert.fail(`an earlier step left no ${name}`),
    set: (value) => Object.defineProperty(made, name, { value }),
    configurable: true,
  });
}

/** Posts without the SDK and without a key: a form, or JSON. */
async function plain(target: string, value: string | object = '') {
  const [type, body] = typeof value === 'string' ? [FORM, value] : ['application/json', JSON.stringify(value)];
  const answer = await fetch(target, { method: 'POST', headers: { 'content-type': type }, body, signal: AbortSignal.timeout(30_000) });
  assert.ok(answer.ok, `${target}: ${answer.status} ${await answer.text()}`);
}

const steps: [string, () => Promise<void>][] = [
  ['customer', async () => {
    const params = { email, name: 'Ada', metadata: { order: '17' } };
    const once = { idempotencyKey: `${scope}-customer` };
    const first = await stripe.customers.create(params, once);
    const again = await stripe.customers.create(params, once);
    assert.deepEqual([again.id, again.metadata.order], [first.id, '17']);
    made.customer = first.id;
  }],

  ['payment method', async () => {
    made.method = (await stripe.paymentMethods.create({ type: 'card', card: { token: 'tok_visa' } })).id;
    await stripe.paymentMethods.attach(made.method, { customer: made.customer });
    await stripe.customers.update(made.customer, { invoice_settings: { default_payment_method: made.method } });
    const customer = await stripe.customers.retrieve(made.customer, { expand: ['invoice_settings.default_payment_method'] });
    assert.ok(!customer.deleted);
    const method = customer.invoice_settings.default_payment_method as Stripe.PaymentMethod;
    assert.deepEqual([method.id, method.customer, method.card?.last4], [made.method, made.customer, '4242']);
  }],

  ['3DS', async () => {
    let intent = await stripe.paymentIntents.create({
      amount: 2000, currency: 'usd', customer: made.customer, payment_method: 'pm_card_threeDSecure2Required', confirm: true,
      return_url: 'https://example.com/back', metadata: { order: `${scope}-3ds` },
    });
    assert.deepEqual([intent.status, intent.next_action?.type], ['requires_action', 'redirect_to_url']);
    await plain(intent.next_action!.redirect_to_url!.url!, 'result=succeed');
    intent = await stripe.paymentIntents.retrieve(intent.id, { expand: ['latest_charge'] });
    const charge = intent.latest_charge as Stripe.Charge;
    assert.deepEqual([intent.status, intent.amount_received, charge.paid, charge.captured], ['succeeded', 2000, true, true]);
    [made.intent, made.charge] = [intent.id, charge.id];
  }],

  ['capture', async () => {
    let intent = await stripe.paymentIntents.create({
      amount: 5000, currency: 'usd', customer: made.customer, payment_method: made.method, automatic_payment_methods: noRedirects,
      capture_method: 'manual', confirm: true,
    });
    assert.deepEqual([intent.status, intent.amount_capturable], ['requires_capture', 5000]);
    intent = await stripe.paymentIntents.capture(intent.id, { amount_to_capture: 3000 });
    assert.deepEqual([intent.status, intent.amount_received], ['succeeded', 3000]);
  }],

  ['decline', async () => {
    const declined = stripe.paymentIntents.create({
      amount: 1000, currency: 'usd', payment_method: 'pm_card_visa_chargeDeclined', automatic_payment_methods: noRedirects, confirm: true,
    });
    await assert.rejects(declined, (error) => {
      assert.ok(error instanceof Stripe.errors.StripeCardError);
      assert.deepEqual([error.code, error.decline_code, error.statusCode], ['card_declined', 'generic_decline', 402]);
      return true;
    });
  }],

  ['partial refund', async () => {
    const refund = await stripe.refunds.create({ payment_intent: made.intent, amount: 500 });
    assert.deepEqual([refund.status, refund.amount], ['succeeded', 500]);
    const charge = await stripe.charges.retrieve(made.charge);
    assert.deepEqual([charge.amount_refunded, charge.refunded], [500, false]);
    assert.deepEqual(ids(await stripe.refunds.list({ charge: made.charge })), [refund.id]);
  }],

  ['product and prices', async () => {
    const product = (await stripe.products.create({ name: `Plan ${scope}` })).id;
    const price = { product, currency: 'usd' };
    made.monthly = (await stripe.prices.create({ ...price, unit_amount: 1500, recurring: { interval: 'month' } })).id;
    made.single = (await stripe.prices.create({ ...price, unit_amount: 700 })).id;
    assert.deepEqual(ids(await stripe.prices.list({ product })).sort(), [made.monthly, made.single].sort());
  }],

  ['subscription', async () => {
    const [begin, day] = [1_900_000_000, 86_400];
    const clock = (await stripe.testHelpers.testClocks.create({ frozen_time: begin })).id;
    const advance = async (to: number) => {
      await stripe.testHelpers.testClocks.advance(clock, { frozen_time: to });
      for (let tries = 0; (await stripe.testHelpers.testClocks.retrieve(clock)).status !== 'ready'; tries++) assert.ok(tries < 100);
    };
    const customer = await stripe.customers.create({
      test_clock: clock, email: `clock-${scope}@example.com`, payment_method: 'pm_card_visa',
      invoice_settings: { default_payment_method: 'pm_card_visa' },
    });
    const subscription = await stripe.subscriptions.create({ customer: customer.id, items: [{ price: made.monthly }], trial_period_days: 7 });
    assert.deepEqual([subscription.status, subscription.trial_end], ['trialing', begin + 7 * day]);
    const invoices = async () => {
      const { data } = await stripe.invoices.list({ subscription: subscription.id });
      return data.map((each) => [each.amount_paid, each.status]);
    };
    assert.deepEqual(await invoices(), [[0, 'paid']]);
    await advance(begin + 8 * day);
    await advance(begin + 8 * day + 7200);
    assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
    assert.deepEqual(await invoices(), [[1500, 'paid'], [0, 'paid']]);
  }],

  ['checkout', async () => {
    let session = await stripe.checkout.sessions.create({
      mode: 'payment', customer: made.customer, line_items: [{ price: made.single, quantity: 2 }], success_url: 'https://example.com/ok',
    });
    assert.equal(session.status, 'open');
    await plain(session.url!);
    session = await stripe.checkout.sessions.retrieve(session.id);
    assert.deepEqual([session.status, session.payment_status, session.amount_total], ['complete', 'paid', 1400]);
    assert.deepEqual((await stripe.checkout.sessions.listLineItems(session.id)).data.map((each) => each.quantity), [2]);
  }],

  ['list and search', async () => {
    assert.deepEqual(ids(await stripe.customers.list({ email })), [made.customer]);
    assert.deepEqual(ids(await stripe.paymentIntents.search({ query: `metadata["order"]:"${scope}-3ds"` })), [made.intent]);
    const events = await stripe.events.list({ type: 'charge.refunded' });
    assert.deepEqual(events.data.map((event) => event.type === 'charge.refunded' && event.data.object.id), [made.charge]);
  }],

  ['lagging search', async () => {
    const { customers } = at(lagging);
    const query = `metadata["order"]:"${scope}-late"`;
    const { id } = await customers.create({ metadata: { order: `${scope}-late` } });
    assert.deepEqual(ids(await customers.list()), [id]);
    assert.deepEqual(ids(await customers.search({ query })), []);
    await plain(`${lagging}/_clock?scope=${scope}`, { advance: '61s' });
    assert.deepEqual(ids(await customers.search({ query })), [id]);
  }],

  ['auto-pagination', async () => {
    const [wanted, got]: [string[], string[]] = [[], []];
    for (let number = 0; number < 250; number++) {
      wanted.unshift((await stripe.customers.create({ name: `page-${number}`, email: `page@${scope}.example` })).id);
    }
    for await (const customer of stripe.customers.list({ email: `page@${scope}.example`, limit: 100 })) got.push(customer.id);
    assert.deepEqual(got, wanted);
  }],

  ['webhook', async () => {
    const receiver = await Receiver.open();
    try {
      const { secret } = await stripe.webhookEndpoints.create({ url: receiver.url, enabled_events: ['product.created'] });
      await plain(`${url}/_faults`, { provider: 'stripe-webhooks', scope, mode: 'duplicate', on: 1 });
      const twice = await stripe.products.create({ name: `Twice ${scope}` }, { idempotencyKey: `${scope}-twice` });
      const told = [await receiver.next(), await receiver.next()] as const;
      const events = told.map(({ body, signature }) => stripe.webhooks.constructEvent(body, signature, secret!));
      assert.equal(events[0]?.id, events[1]?.id);
      const [event] = events;
      assert.ok(event?.type === 'product.created');
      assert.deepEqual([event.data.object.id, event.request?.idempotency_key], [twice.id, `${scope}-twice`]);
      const [{ body, signature }] = told;
      for (const [text, key] of [[body, 'whsec_other'], [body.replace('Twice', 'Never'), secret!]] as const) {
        assert.throws(() => stripe.webhooks.constructEvent(text, signature, key), Stripe.errors.StripeSignatureVerificationError);
      }
      const once = await stripe.products.create({ name: `Once ${scope}` });
      const last = await receiver.next();
      const single = stripe.webhooks.constructEvent(last.body, last.signature, secret!);
      assert.equal(single.type === 'product.created' && single.data.object.id, once.id);
      assert.equal(receiver.told.length, 0, 'it came more than once');
    } finally {
      receiver.close();
    }
  }],
];

type Told = { body: string; signature: string };

/** Is the application that Stripe tells of events. */
class Receiver {
  readonly told: Told[] = [];
  private wake = () => {};

  private constructor(private readonly server: http.Server) {
    server.on('request', async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      // Answered first: the program may end before it is otherwise, and would be told again.
      await new Promise<void>((resolve) => response.end(resolve));
      this.told.push({ body: Buffer.concat(chunks).toString(), signature: String(request.headers['stripe-signature']) });
      this.wake();
    });
  }

  static async open() {
    const server = http.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Receiver(server);
  }

  get url() {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  async next(): Promise<Told> {
    if (this.told.length === 0) {
      await new Promise<void>((resolve, reject) => {
        const late = setTimeout(() => reject(new Error('no delivery came within 10 s')), 10_000);
        this.wake = () => (clearTimeout(late), resolve());
      });
    }
    return this.told.shift()!;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

(async () => {
  for (const [name, step] of steps) {
    try {
      await step();
      console.log(`ok   node program ${name}`);
    } catch (error) {
      const { name: kind, message, stack } = error as Error;
      const line = /program\.js:(\d+)/.exec(stack ?? '')?.[1] ?? '?';
      console.log(`FAIL node program ${name}: line ${line}: ${kind}: ${message.replace(/\s+/g, ' ')}`);
      process.exitCode = 1;
    }
  }
})();
