// Charges once with stripe for Node, its host untouched, or gets a page: prints what the program saw.
import https from 'node:https';
import { HttpsProxyAgent } from 'https-proxy-agent';
import Stripe from 'stripe';

const [what, name] = process.argv.slice(2);
// stripe's own client looks at no variable, so the agent is handed in.
const agent = process.env.HTTPS_PROXY ? new HttpsProxyAgent(process.env.HTTPS_PROXY) : undefined;

const get = (url) =>
  new Promise((resolve, reject) => https.get(url, { agent }, (answer) => resolve(answer.resume().statusCode)).on('error', reject));

try {
  if (what === 'charge') {
    const stripe = new Stripe('sk_test_123', { httpAgent: agent });
    const charge = { amount: 1099, currency: 'usd', source: 'tok_visa' };
    const { id } = await stripe.charges.create(charge, { idempotencyKey: name });
    console.log('success', id);
  } else {
    console.log('success', await get(name));
  }
} catch (error) {
  console.log(error.type ?? error.name, error.message);
}
process.exit();
