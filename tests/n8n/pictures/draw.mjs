// The naive workflow meets one lost reply; then two pictures: what n8n shows, and what the provider counted.

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const [ackdrop, folder] = process.argv.slice(2);
const n8n = 'http://localhost:5678';
const size = { width: 1180, height: 480 };
mkdirSync(folder, { recursive: true });

const post = async (url, body) => {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
};
await post('http://localhost:8080/_reset', {});
await post('http://localhost:8080/_faults', { mode: 'drop-after-commit', provider: 'smtp', on: 1 });
await post(`${n8n}/webhook/naive`, { order: '17', amount: 1099, email: 'b@example.com' });

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  const page = await browser.newPage({ viewport: size });
  await page.goto(`${n8n}/signin`);
  await page.locator('input[name=emailOrLdapLoginId]').fill('owner@n8n.test');
  await page.locator('input[name=password]').fill('Lab-Passw0rd');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => !url.pathname.includes('signin'));
  await page.goto(`${n8n}/workflow/labNaive00000001/executions`);
  await page.waitForURL(/executions\/\d+/);
  await page.locator('[data-test-id=canvas-node-status-success]').nth(2).waitFor();
  // A list of advice lies over the executions; its button has no name.
  const advice = page.getByText('Production Checklist');
  await advice.waitFor();
  const { x, y, height } = await advice.boundingBox();
  await page.mouse.click(x + 320, y + height / 2);
  await advice.waitFor({ state: 'hidden' });
  await page.waitForTimeout(1500); // The canvas moves into view.
  await page.screenshot({ path: `${folder}/green.png` });

  const stats = execFileSync(ackdrop, ['stats'], { encoding: 'utf8' });
  const text = stats.replace(/^since .*\n?/m, '').trimEnd();
  await page.setContent(`<pre style="font: 15px monospace; margin: 24px">$ ackdrop stats\n\n${text.replace(/</g, '&lt;')}</pre>`);
  await page.screenshot({ path: `${folder}/twice.png` });
} finally {
  await browser.close();
}
