/** The links in the messages of campaigns: to unsubscribe, and those that count opened messages and followed links. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CampaignFixture, publicUrl } from '../support/campaign-fixture.ts';
import { describeEngines } from '../support/engines.ts';

describeEngines('links in campaigns', (engine) => {
  let fixture: CampaignFixture;
  beforeAll(async () => {
    fixture = await CampaignFixture.open(engine);
  });
  afterAll(() => fixture?.stop());

  test('a recipient unsubscribes without signing in, by the button of the mail program or on the page', async () => {
    await fixture.addCustomers('bye', 3);
    const id = await fixture.create('bye');
    await fixture.step(id, 'start');
    await fixture.untilStatus(id, 'done');
    const linkOf = (address: string): string => {
      const raw = fixture.received(address)[0]!.raw.toString().replaceAll('\r\n ', ' ');
      const link = /^List-Unsubscribe: <(.*)>\r$/m.exec(raw)![1]!;
      expect(raw.replaceAll('=\r\n', '')).toContain(`Unsubscribe: ${link}`);
      return link.replace(publicUrl, fixture.server.running.url);
    };
    const page = await fetch(linkOf('bye1'));
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const text = await page.text();
    expect(text).toContain('<form method="post">');
    expect(text).not.toContain('bye1@');
    expect((await fixture.messages(id))['bye1@example.net'].status).toBe('sent');
    const oneClick = {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    };
    for (let times = 0; times < 2; times += 1) expect((await fetch(linkOf('bye1'), oneClick)).status).toBe(200);
    expect((await fixture.messages(id))['bye1@example.net'].status).toBe('unsubscribed');
    expect(await fixture.get(id)).toMatchObject({ unsubscribed: 1 });
    const link = linkOf('bye2');
    const other = Buffer.from(JSON.stringify(['main', 1])).toString('base64url');
    for (const forged of [`${link.slice(0, -6)}AAAAAA`, link.replace(/unsubscribe\/[^.]+/, `unsubscribe/${other}`)])
      for (const method of ['GET', 'POST']) expect((await fetch(forged, { method })).status).toBe(404);
    expect((await fixture.get(id)).unsubscribed).toBe(1);
    const again = await fixture.create('bye');
    await fixture.step(again, 'start');
    await fixture.untilStatus(again, 'done');
    expect(await fixture.get(again)).toMatchObject({ sent: 2, skipped: 1 });
    expect(fixture.received('bye1').length).toBe(1);
  });

  test('opened messages and followed links are counted only where the campaign says so, with a notice', async () => {
    await fixture.addCustomers('seen', 2);
    const html = '<p>Dear {{name}}, <a class="x" href="https://shop.example/a?b=1&amp;c=2">look</a></p>';
    const [plain, counted] = [
      await fixture.create('seen', { html }),
      await fixture.create('seen', { html, trackOpens: true, trackClicks: true }),
    ];
    for (const id of [plain, counted]) {
      await fixture.step(id, 'start');
      await fixture.untilStatus(id, 'done');
    }
    const decode = (raw: Buffer): string => raw.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=');
    const [first, second] = fixture.received('seen1').map(({ raw }) => decode(raw)) as [string, string];
    expect(first).toContain('href="https://shop.example/a?b=1&amp;c=2"');
    expect(first).not.toMatch(/<img|counts whether|campaign-/);
    expect(second).toContain('The sender counts whether this message is opened, and whether its links are followed.');
    expect(second).not.toContain('shop.example');
    const local = (url: string): string => url.replace(publicUrl, fixture.server.running.url);
    const pixel = local(/<img src="([^"]+)"/.exec(second)![1]!);
    const link = local(/href="([^"]+campaign-link[^"]+)"/.exec(second)![1]!);
    // Programs that check links, such as scanners of e-mails, send HEAD: it has the same headers and counts nothing.
    expect((await fetch(pixel, { method: 'HEAD' })).headers.get('content-type')).toBe('image/gif');
    const checked = await fetch(link, { method: 'HEAD', redirect: 'manual' });
    expect([checked.status, checked.headers.get('location')]).toEqual([302, 'https://shop.example/a?b=1&c=2']);
    expect(await fixture.get(counted)).toMatchObject({ opened: 0, clicked: 0 });
    for (let times = 0; times < 2; times += 1) {
      expect((await fetch(pixel)).headers.get('content-type')).toBe('image/gif');
      const reply = await fetch(link, { redirect: 'manual' });
      expect([reply.status, reply.headers.get('location')]).toEqual([302, 'https://shop.example/a?b=1&c=2']);
    }
    expect(await fixture.get(counted)).toMatchObject({ opened: 1, clicked: 1, sent: 2 });
    expect(await fixture.get(plain)).toMatchObject({ opened: 0, clicked: 0, trackOpens: false });
    expect((await fixture.messages(counted))['seen1@example.net']).toMatchObject({
      status: 'sent',
      openedAt: expect.any(String),
      clickedAt: expect.any(String),
    });
    // A token is only valid for its purpose and its message, and leads nowhere else.
    const token = link.split('/').at(-1)!;
    const { url } = fixture.server.running;
    for (const path of [`unsubscribe/${token}`, `campaign-link/${pixel.split('/').at(-1)}`, `campaign-link/x.${token}`])
      expect((await fetch(`${url}/${path}`, { redirect: 'manual' })).status).toBe(404);
    const long = await fetch(`${url}/unsubscribe/${'A'.repeat(500)}`);
    expect([long.status, long.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect((await fetch(`${url}/campaign-open/x`)).status).toBe(200);
    expect(await fixture.get(counted)).toMatchObject({ opened: 1, clicked: 1, unsubscribed: 0 });
  });
});
