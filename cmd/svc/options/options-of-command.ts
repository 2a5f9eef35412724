import type { OptionName } from './option-table.ts';

const ofControllers = 'svc.controllers.';
const ofAnotherPlatform = ['svc.access.api-url', 'svc.access.token-file', 'svc.access.ca-file'];
const ofForwarding = ['svc.server.access-'];
const ofAccessListener = ['svc.access.port', 'svc.access.host', 'svc.access.tls.', 'svc.access.public-url'];
const ofStandby = 'svc.database.read-';
const ofDatabase = [
  'svc.database.url',
  'svc.database.ca-file',
  'svc.database.start-timeout',
  'svc.database.pool-size',
  'svc.data.dir',
  'svc.log.level',
  'svc.log.format',
];
const ofKeys = ['svc.security.key'];
const ofServer = [
  'svc.server.host',
  'svc.server.port',
  'svc.data.dir',
  'svc.controllers.api-url',
  'svc.controllers.token-file',
  'svc.controllers.ca-file',
];

interface Chosen {
  /** Prefixes of option names. Default: all. */
  include?: readonly string[];
  exclude?: readonly string[];
}

/** The options that a command uses. It accepts the others too, so that it can be started with the server's options. */
const chosen: Readonly<Record<string, Chosen>> = {
  serve: { exclude: [ofControllers, ofStandby, ...ofAnotherPlatform, ...ofForwarding] },
  apiserver: { exclude: [ofControllers, 'svc.plugins.', ...ofAnotherPlatform, ...ofAccessListener] },
  'access-server': {
    include: [
      ...ofDatabase,
      'svc.access.',
      'svc.tls.',
      'svc.security.',
      'svc.http.',
      'svc.metrics.',
      'svc.api.request-timeout',
      'svc.log.',
      'svc.server.drain-timeout',
      'svc.server.shutdown-delay',
    ],
    exclude: ['svc.security.basic-auth.'],
  },
  'controller-manager': {
    include: [
      ofControllers,
      'svc.plugins.',
      'svc.data.dir',
      'svc.metrics.',
      'svc.log.',
      'svc.server.host',
      'svc.server.drain-timeout',
      'svc.http.max-bytes-in-flight',
      'svc.http.max-wait',
    ],
  },
  migrate: { include: ofDatabase },
  'private-token': { include: [...ofDatabase, ...ofKeys] },
  'create-token': { include: ofDatabase },
  'revoke-tokens': { include: ofDatabase },
  unblock: { include: ofDatabase },
  'rotate-keys': { include: [...ofDatabase, ...ofKeys] },
  backup: { include: ofDatabase },
  'backup verify': { include: ['svc.log.level', 'svc.log.format'] },
  restore: { include: [...ofDatabase, ...ofKeys] },
  generate: { include: ofServer },
  plugin: { include: ofServer },
  'plugin remove': { include: [...ofServer, 'svc.plugins.dir'] },
};

/** The options of a command by its words, or else by the first of them; none for an unknown command. */
export function optionsOfCommand(command: string, names: readonly OptionName[]): OptionName[] {
  const { include, exclude = [] } = chosen[command] ?? chosen[command.split(' ')[0]!] ?? { include: [] };
  const begins = (name: string, beginnings: readonly string[]): boolean =>
    beginnings.some((beginning) => name.startsWith(beginning));
  return names.filter((name) => (include === undefined || begins(name, include)) && !begins(name, exclude));
}
