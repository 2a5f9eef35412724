import type { Incident } from '../incident.ts';

const [older, newer] = ['2.22.0+0123456', '2.22.0+789abcd'];

export const versionsMixed: readonly Incident[] = [
  {
    alert: 'SvcVersionsMixed',
    speed: 60,
    intent: 'An upgrade forgets one of two processes; it is upgraded, too.',
    open: async (site) => {
      await (await site.add('serve', { version: older })).start();
      await (await site.add('apiserver', { name: 'second', version: older })).start();
    },
    provoke: async (site) => {
      const [server, second] = site.members;
      await second!.stop();
      await second!.start({ version: newer });
      return async () => {
        await server!.stop();
        await server!.start({ version: newer });
      };
    },
    look: async (site) => {
      const versions = await Promise.all(site.members.map(({ url }) => site.demand('/version', {}, url)));
      if (!versions[0]!.includes(older) || !versions[1]!.includes(newer))
        throw new Error(`/version does not tell the builds: ${versions.join(' ')}`);
    },
    brings: ['SvcDown:gone', 'SvcDown:none', 'SvcControllersNotLed'],
  },
];
