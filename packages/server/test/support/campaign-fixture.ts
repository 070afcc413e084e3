import { setTimeout as pause } from 'node:timers/promises';
import type { Engine } from './engines.ts';
import type { Json } from './json.ts';
import { DeliveryFixture } from './mail-delivery-fixture.ts';

/** The public address of the server in these tests. */
export const publicUrl = 'https://data.example.com';

/** Permissions of a marketer: mail, and gold customers without their notes. */
const marketerPermissions = [
  { resource: 'accounts', actions: 'list,get' },
  { resource: 'mailboxes', actions: 'list,get' },
  { resource: 'conversations', actions: 'list,get' },
  { resource: 'emails', actions: 'list,get,create,update' },
  { resource: 'mailCampaigns', actions: 'list,get,create,update,destroy' },
  { resource: 'mailCampaignMessages', actions: 'list,get' },
  { resource: 'mailSuppressions', actions: 'list,get,create,destroy' },
  { resource: 'customers', actions: 'list', fields: ['id', 'name', 'email', 'tier'], filter: { tier: 'gold' } },
];

/** A server with customers, the user mia with the role marketer, and mia's account 2, which sends by the relay. */
export class CampaignFixture {
  readonly delivery: DeliveryFixture;

  private constructor(delivery: DeliveryFixture) {
    this.delivery = delivery;
  }

  static async open(engine: Engine): Promise<CampaignFixture> {
    const delivery = await DeliveryFixture.open(engine, {}, { PUBLIC_URL: publicUrl });
    const { server } = delivery;
    const fields = ['name', 'email', 'tier', 'note'].map((name) => ({ name, type: 'string' }));
    await server.data('POST /api/collections:create', { body: { name: 'customers', fields } });
    await server.data('POST /api/roles:create', { body: { name: 'marketer' } });
    const ids: number[] = [];
    for (const { actions, ...rest } of marketerPermissions)
      ids.push(
        (
          await server.data('POST /api/permissions:create', {
            body: { role: 'marketer', actions: actions.split(','), ...rest },
          })
        ).id,
      );
    const user = { email: 'mia@example.com', password: 'correct horse', roles: ['marketer'] };
    const { id } = await server.data('POST /api/users:create', { body: user });
    server.tokens.set('mia', await server.signIn(user.email, user.password));
    await delivery.addAccount('mia@example.com', { members: [id] });
    return new CampaignFixture(delivery);
  }

  get server() {
    return this.delivery.server;
  }

  /** Adds customers c1@example.net and so on. */
  async addCustomers(prefix: string, count: number, more: object = {}): Promise<void> {
    const body = Array.from({ length: count }, (_, index) => ({
      name: `${prefix} ${index + 1}`,
      email: `${prefix}${index + 1}@example.net`,
      tier: 'gold',
      note: 'secret note',
      ...more,
    }));
    await this.server.data('POST /api/customers:create', { body });
  }

  /** Creates a campaign of mia to the customers whose names begin with a prefix. */
  async create(prefix: string, more: object = {}): Promise<number> {
    const body = {
      accountId: 2,
      name: `To ${prefix}`,
      audience: { collection: 'customers', filter: { name: { $startsWith: prefix } }, field: 'email' },
      subject: 'News for {{name|you}}',
      text: 'Dear {{name}},\n',
      html: '<p>Dear {{name}},</p>',
      ratePerMinute: 6000,
      ...more,
    };
    return (await this.server.data('POST /api/mailCampaigns:create', { as: 'mia', body })).id as number;
  }

  step(id: number, name: string, body: object = {}): Promise<Json> {
    return this.server.data(`POST /api/mailCampaigns:${name}?filterByTk=${id}`, { as: 'mia', body });
  }

  get(id: number): Promise<Json> {
    return this.server.data(`GET /api/mailCampaigns/${id}`, { as: 'mia' });
  }

  /** The recipients of a campaign, by address. */
  async messages(id: number): Promise<Record<string, Json>> {
    const filter = JSON.stringify({ campaignId: id });
    const found = await this.server.data(`GET /api/mailCampaignMessages:list?pageSize=200&filter=${filter}`, {
      as: 'mia',
    });
    return Object.fromEntries(found.map((each: Json) => [each.address, each]));
  }

  /** Moves the clock and runs the workers until a condition holds. */
  async until<T>(read: () => Promise<T>, holds: (value: T) => boolean, milliseconds = 50): Promise<T> {
    const { mail } = this.server.running.applications.main;
    for (let attempt = 0; ; attempt += 1) {
      const value = await read();
      if (holds(value)) return value;
      if (attempt === 400) throw new Error(`It did not happen: ${JSON.stringify(value)}`);
      this.delivery.clock.advance(milliseconds);
      mail.campaigns.wake();
      mail.delivery.wake();
      await pause(20);
    }
  }

  untilStatus(id: number, status: string): Promise<Json> {
    return this.until(
      () => this.get(id),
      (each) => each.status === status,
    );
  }

  /** The messages that the relay has received for addresses with a prefix. */
  received(prefix: string) {
    return this.delivery.relay.received.filter(({ to }) => to[0]?.startsWith(prefix));
  }

  stop(): Promise<void> {
    return this.delivery.stop();
  }
}
