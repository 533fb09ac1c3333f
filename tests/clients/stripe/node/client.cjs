// Charges once a case with stripe-node, as the plan (a JSON file, the first argument) says, and prints what the program saw.
const { readFileSync } = require('node:fs');
const Stripe = require('stripe');

async function charge({ url, key, retries, timeout, kept }) {
  const { hostname: host, port } = new URL(url);
  const config = { host, port, protocol: 'http' };
  if (retries !== null) config.maxNetworkRetries = retries;
  if (timeout !== null) config.timeout = timeout;
  const stripe = new Stripe(key, config);
  if (kept) await stripe.charges.list({ limit: 1 });
  try {
    const { id } = await stripe.charges.create({ amount: 1099, currency: 'usd', source: 'tok_visa' });
    return { saw: 'success', id };
  } catch (error) {
    return { saw: [error.type ?? error.name, error.statusCode].filter(Boolean).join(' '), detail: error.message };
  }
}

(async () => {
  for (const entry of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
    console.log(JSON.stringify({ case: entry.case, ...(await charge(entry)) }));
  }
  // An answer with a status that it retries is never read to its end: its socket keeps the process alive for the 80 s of the timeout.
  process.exit();
})();
