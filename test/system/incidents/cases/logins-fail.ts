import { setTimeout as delay } from 'node:timers/promises';
import { newPersonalToken } from '#pkg/identity/index';
import type { Incident } from '../incident.ts';
import { repeat } from '../repeat.ts';
import type { IncidentSite } from '../site/incident-site.ts';

async function logIn(site: IncidentSite, username: string, password: string): Promise<{ token?: string }> {
  const answer = await fetch(`${site.server.accessUrl}/api/v1/authentication/auth/`, {
    method: 'POST',
    body: JSON.stringify({ username, password }),
    headers: { 'content-type': 'application/json' },
  });
  return (await answer.json()) as { token?: string };
}

export const loginsFail: readonly Incident[] = [
  {
    alert: 'SvcLoginsFail',
    cause: 'passwords',
    intent: 'A script logs in with an old password; it stops.',
    provoke: async (site) => {
      const { token } = await logIn(site, 'admin', await site.adminPassword());
      const end = repeat(site, async () => {
        await logIn(site, 'script', 'the-old-one').catch(() => undefined);
        await delay(20);
      });
      return async () => {
        const rows = await site.demand(
          '/api/v1/audits/login-logs/?is_success=false',
          { headers: { authorization: `Bearer ${token}` } },
          site.server.accessUrl,
        );
        for (const field of ['"username":"script"', '"remote_addr":"127.0.0.1"', '"reason":"'])
          if (!rows.replaceAll('": ', '":').includes(field))
            throw new Error(`the audit does not show ${field}: ${rows.slice(0, 500)}`);
        await end();
      };
    },
  },
  {
    alert: 'SvcLoginsFail',
    cause: 'tokens',
    intent: 'A program goes on with a token that was revoked; it stops.',
    logs: ['request'],
    provoke: async (site) => {
      const headers = { authorization: `Bearer ${newPersonalToken()}` };
      const senders = Array.from({ length: 4 }, () =>
        repeat(site, async () => {
          await site.request('/api/v1/namespaces', { headers }).catch(() => undefined);
          await delay(20);
        }),
      );
      return () => Promise.all(senders.map((end) => end()));
    },
    look: (site) =>
      site.untilLogLine(
        (line) => line['status'] === 401 && line['clientAddress'] === '127.0.0.1',
        '401 and the address',
      ),
  },
];
