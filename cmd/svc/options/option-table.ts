import {
  accessToken,
  addressRange,
  enumOption,
  duration,
  integer,
  listOf,
  origin,
  port,
  quotaLimit,
  serverUrlOption,
  size,
  text,
  trueOrFalse,
  webhookHost,
} from './option-types.ts';
import type { Option, ValueOf } from './option.ts';

/** All startup options. Names are public: they stay supported from release to release. */
export const optionTable = {
  'svc.server.port': { type: port, default: '8090', doc: 'Port of the content platform.' },
  'svc.server.host': {
    type: text,
    default: '127.0.0.1',
    doc: 'Address to listen on; any but loopback needs svc.security.initial-admin-token.',
  },
  'svc.server.workers': {
    type: integer({ min: 1, max: 64 }),
    default: '',
    doc: 'Processes that share the ports. Empty: 1 up to two cores, above that one core fewer, at most 4.',
  },
  'svc.server.tls.port': {
    type: port,
    default: '8443',
    doc: 'Port on which it speaks https, where there is a certificate; svc serve makes one.',
  },
  'svc.server.tls.host': { type: text, default: '', doc: 'Address for that. Empty: svc.server.host.' },
  'svc.server.public-url': {
    type: serverUrlOption,
    default: '',
    doc: 'Address by which clients know it, such as https://svc.example.com. Empty: what trusted proxies and the Host header say.',
  },
  'svc.server.access-url': {
    type: serverUrlOption,
    default: '',
    doc: 'Where svc access-server runs, to which svc apiserver forwards the paths of access management. Empty: it does not.',
  },
  'svc.server.access-ca-file': {
    type: text,
    default: '',
    doc: 'Authority of its certificate, in PEM form, read anew when it changes. Empty: those that Node knows.',
  },
  'svc.server.drain-timeout': {
    type: duration({ min: '1s', max: '1h' }),
    default: '30s',
    doc: 'Time from SIGTERM to the end, for requests under way and everything else.',
  },
  'svc.server.shutdown-delay': {
    type: duration({ min: '0s', max: '10m' }),
    default: '0s',
    doc: 'Part of it, at its start: /readyz fails, and all is served, until load balancers have noticed.',
  },
  'svc.access.port': { type: port, default: '8091', doc: 'Port of the access management service.' },
  'svc.access.host': { type: text, default: '127.0.0.1', doc: 'Address it listens on.' },
  'svc.access.tls.port': { type: port, default: '8444', doc: 'Port on which it speaks https, likewise.' },
  'svc.access.tls.host': { type: text, default: '', doc: 'Address for that. Empty: svc.access.host.' },
  'svc.access.public-url': {
    type: serverUrlOption,
    default: '',
    doc: 'Address by which clients know it, likewise; links in its answers begin with it.',
  },
  'svc.access.token.ttl': {
    type: duration({ min: '1m' }),
    default: '24h',
    doc: 'How long a Bearer token of its login is valid.',
  },
  'svc.access.session.idle': {
    type: duration({ min: '1m' }),
    default: '24h',
    doc: 'Time without a request after which a session of the pages ends.',
  },
  'svc.access.login.ip-limit': {
    type: integer({ min: 1, max: 1_000_000 }),
    default: '100',
    doc: 'Failed logins of one address in 30 minutes; then it has to wait.',
  },
  'svc.access.signature.max-skew': {
    type: duration({ min: '0s', max: '24h' }),
    default: '300s',
    doc: "How far a signed request's date may be from the server's clock; 0s does not look at it.",
  },
  'svc.access.signature.require-digest': {
    type: enumOption('off', 'unsafe'),
    default: 'off',
    doc: 'unsafe: a signed POST, PUT, PATCH or DELETE must sign a digest of its body, else 401.',
  },
  'svc.access.throttle.anonymous': {
    type: integer({ min: 1, max: 1_000_000_000 }),
    default: '2048',
    doc: 'Requests a minute of one address without a valid credential.',
  },
  'svc.access.throttle.user': {
    type: integer({ min: 1, max: 1_000_000_000 }),
    default: '4096',
    doc: 'Requests a minute of one user.',
  },
  'svc.access.audit.retention-days': {
    type: integer({ min: 1, max: 36_500 }),
    default: '180',
    doc: 'Days that rows of the audit logs are kept.',
  },
  'svc.access.organization-quota': {
    type: listOf(quotaLimit),
    default: '',
    doc: 'Limits of the namespace of each organization that is made from now on, such as bytes=1Gi.',
  },
  'svc.audit.policy-file': {
    type: text,
    default: '',
    doc: "File with the audit policy of the content platform (audit.k8s.io/v1 Policy). Empty: every write at Metadata, except the platform's own routine.",
  },
  'svc.audit.log-file': {
    type: text,
    default: '',
    doc: 'File that also gets each event, as a line of JSON; - is stdout. It may be moved away, and is then made again.',
  },
  'svc.audit.retention-days': {
    type: integer({ min: 1, max: 36_500 }),
    default: '30',
    doc: 'Days that events of the content platform are kept.',
  },
  'svc.access.api-url': {
    type: text,
    default: 'http://127.0.0.1:8090',
    doc: 'Content platform that svc access-server makes the namespaces of organizations on.',
  },
  'svc.access.token-file': {
    type: text,
    default: '',
    doc: 'File with the personal token for that. Empty: admin-token in svc.data.dir.',
  },
  'svc.access.ca-file': {
    type: text,
    default: '',
    doc: "Authority of that platform's certificate, in PEM form, read anew when it changes. Empty: those that Node knows.",
  },
  'svc.tls.cert-file': {
    type: text,
    default: '',
    doc: 'Certificate in PEM form, the chain after it, read anew when it changes. Empty: svc serve makes one of its own.',
  },
  'svc.tls.key-file': { type: text, default: '', doc: 'Its key.' },
  'svc.data.dir': {
    type: text,
    default: './data',
    doc: "Folder of the embedded PostgreSQL, the administrator's token and first password, secret-key, tls, and kubeconfig.",
  },
  'svc.database.url': {
    type: text,
    default: '',
    doc: 'PostgreSQL 15 or newer: postgres://user:password@host:5432/name; several hosts: host:5432,host:5432. Empty: an embedded one.',
    isSecret: true,
  },
  'svc.database.url-file': {
    type: text,
    default: '',
    doc: 'File that holds it, read at the start; user and password also for each new connection.',
  },
  'svc.database.ca-file': {
    type: text,
    default: '',
    doc: 'Authority of its certificate, in PEM form: connect by TLS alone, and to no other server. The URL may say sslmode, sslrootcert, sslcert and sslkey.',
  },
  'svc.database.read-url': {
    type: text,
    default: '',
    doc: 'A streaming standby of svc.database.url: svc apiserver answers gets, lists and watches from it. Empty: from the primary.',
    isSecret: true,
  },
  'svc.database.read-url-file': {
    type: text,
    default: '',
    doc: 'File that holds it, as svc.database.url-file.',
  },
  'svc.database.start-timeout': {
    type: duration({ min: '0s', max: '1h' }),
    default: '60s',
    doc: 'How long a server that starts waits for a PostgreSQL that is away, busy, or starting itself.',
  },
  'svc.database.pool-size': {
    type: integer({ min: 2, max: 1000 }),
    default: '10',
    doc: 'Connections of the main pool; about 40 more serve lists, writes and changes.',
  },
  'svc.controllers.api-url': {
    type: text,
    default: 'http://127.0.0.1:8090',
    doc: 'Server that svc controller-manager works with.',
  },
  'svc.controllers.token-file': {
    type: text,
    default: '',
    doc: 'File with the personal token it works with. Empty: admin-token in svc.data.dir.',
  },
  'svc.controllers.ca-file': {
    type: text,
    default: '',
    doc: "Authority of that server's certificate, in PEM form, read anew when it changes. Empty: those that Node knows.",
  },
  'svc.controllers.port': { type: port, default: '8092', doc: 'Port of its health and metrics.' },
  'svc.plugins.dir': {
    type: text,
    default: '',
    doc: 'Folder of plugins, where controllers run. Empty: plugins in svc.data.dir.',
  },
  'svc.plugins.reload': {
    type: trueOrFalse,
    default: 'true',
    doc: 'Start a plugin anew when its files change; another version always is.',
  },
  'svc.plugins.interval': {
    type: duration({ min: '50ms', max: '1h' }),
    default: '2s',
    doc: 'How often their folder is looked at; files count once they stay the same for that long. 100ms suits an author.',
  },
  'svc.plugins.host-url': {
    type: text,
    default: '',
    doc: 'URL of this process for API servers elsewhere, where plugins run. Empty: http://<svc.server.host>:<port>.',
  },
  'svc.security.initial-admin-token': {
    type: text,
    default: '',
    doc: 'Personal token (pat_...) of the administrator. Empty: one is made.',
    isSecret: true,
  },
  'svc.security.initial-admin-token-file': {
    type: text,
    default: '',
    doc: 'File that holds it, read at the start.',
  },
  'svc.security.controller-manager-token': {
    type: text,
    default: '',
    doc: 'Personal token (pat_...) that svc controller-manager works with, as a user of its own.',
    isSecret: true,
  },
  'svc.security.controller-manager-token-file': {
    type: text,
    default: '',
    doc: 'File that holds it, read at the start.',
  },
  'svc.security.access-server-token': {
    type: text,
    default: '',
    doc: 'Personal token (pat_...) that svc access-server works with, as a user of its own.',
    isSecret: true,
  },
  'svc.security.access-server-token-file': {
    type: text,
    default: '',
    doc: 'File that holds it, read at the start.',
  },
  'svc.security.initial-admin-password': {
    type: text,
    default: '',
    doc: 'Password of the first administrator. Empty: one is made.',
    isSecret: true,
  },
  'svc.security.initial-admin-password-file': {
    type: text,
    default: '',
    doc: 'File that holds it, read at the start.',
  },
  'svc.security.key': {
    type: text,
    default: '',
    doc: 'Keys that seal stored secrets, separated by commas, each 64 hexadecimal digits; the first seals.',
    isSecret: true,
  },
  'svc.security.key-file': {
    type: text,
    default: '',
    doc: 'File with them, one a line. Empty: secret-key in svc.data.dir, made at the first start.',
  },
  'svc.security.basic-auth.disabled': { type: trueOrFalse, default: 'true', doc: 'Refuse Authorization: Basic.' },
  'svc.api.max-page-size': {
    type: integer({ min: 1, max: 10_000 }),
    default: '1000',
    doc: 'Largest size of a page of a list; above it is clamped, with a warning.',
  },
  'svc.api.max-chunk-size': {
    type: integer({ min: 1, max: 100_000 }),
    default: '10000',
    doc: 'Most objects one chunk (limit) of a list holds.',
  },
  'svc.api.exact-total-limit': {
    type: integer({ min: 1, max: 1_000_000_000 }),
    default: '10000',
    doc: 'Matches counted exactly in a list with selectors.',
  },
  'svc.api.throttle.user': {
    type: integer({ min: 0, max: 1_000_000_000 }),
    default: '0',
    doc: 'Requests a minute of one user on the content platform, over all replicas; administrators are free. 0: no limit.',
  },
  'svc.api.request-timeout': {
    type: duration({ min: '1s', max: '1h' }),
    default: '30s',
    doc: 'Time for an answer to begin; watches have none.',
  },
  'svc.api.max-body-size': { type: size({ min: '1KiB', max: '64MiB' }), default: '3MiB', doc: 'Largest request body.' },
  'svc.storage.log-max-size': {
    type: size({ min: '1MiB', max: '1024TiB' }),
    default: '1GiB',
    doc: 'History of changes is cut to this size, whatever its age.',
  },
  'svc.storage.log-min-age': {
    type: duration({ min: '10m' }),
    default: '10m',
    doc: 'History of changes younger than this is kept.',
  },
  'svc.webhooks.allowed-hosts': {
    type: listOf(webhookHost),
    default: '',
    doc: 'Hosts of conversion webhooks, such as hooks.example.com:8443 or *.example.com, port 443 unless named. Empty: no webhook is called.',
  },
  'svc.webhooks.allowed-networks': {
    type: listOf(addressRange),
    default: '',
    doc: 'Networks that are not public, such as 10.0.0.0/8, in which these hosts may be.',
  },
  'svc.webhooks.timeout': {
    type: duration({ min: '100ms', max: '30s' }),
    default: '10s',
    doc: 'Time of one call of a webhook.',
  },
  'svc.http.cors.allowed-origins': {
    type: listOf(origin),
    default: '',
    doc: 'Origins whose pages may call the APIs, and where a login may return to.',
  },
  'svc.http.trusted-proxies': {
    type: listOf(addressRange),
    default: '',
    doc: 'Addresses of proxies, such as 10.0.0.0/8, whose X-Forwarded- headers are believed.',
  },
  'svc.http.hsts-days': {
    type: integer({ min: 0, max: 3650 }),
    default: '',
    doc: 'Days for which browsers that came by https, with a certificate of svc.tls.cert-file, come by nothing else to any port of the name; 0 takes that back. Empty: they are told nothing.',
  },
  'svc.http.max-connections': {
    type: integer({ min: 1, max: 1_000_000 }),
    default: '10000',
    doc: 'Open connections; one beyond is answered a probe or the version, nothing else.',
  },
  'svc.http.max-connections-per-address': {
    type: integer({ min: 0, max: 1_000_000 }),
    default: '0',
    doc: 'Open connections of one address; 0 is no limit, as behind a proxy all have its own.',
  },
  'svc.http.max-requests-per-connection': {
    type: integer({ min: 0, max: 1_000_000_000 }),
    default: '0',
    doc: 'Requests after which a connection is closed; 0 is no limit.',
  },
  'svc.http.max-url-size': {
    type: size({ min: '1KiB', max: '1MiB' }),
    default: '64KiB',
    doc: 'Longest path and query; above it 414.',
  },
  'svc.http.max-header-size': {
    type: size({ min: '1KiB', max: '1MiB' }),
    default: '32KiB',
    doc: 'Names and values of all headers; above it 431.',
  },
  'svc.http.max-headers': {
    type: integer({ min: 16, max: 10_000 }),
    default: '256',
    doc: 'Number of headers; above it 431.',
  },
  'svc.http.header-timeout': {
    type: duration({ min: '1s', max: '10m' }),
    default: '30s',
    doc: 'Time for the headers of a request to arrive.',
  },
  'svc.http.body-timeout': {
    type: duration({ min: '1s', max: '1h' }),
    default: '30s',
    doc: 'Time for the body of a request to arrive.',
  },
  'svc.http.idle-timeout': {
    type: duration({ min: '1s', max: '1h' }),
    default: '75s',
    doc: 'Time after which a connection without a request is closed.',
  },
  'svc.http.max-in-flight': {
    type: integer({ min: 0, max: 1_000_000 }),
    default: '256',
    doc: 'Requests under way at a time, watches only until they begin; 0 is no limit.',
  },
  'svc.http.max-in-flight-per-user': {
    type: integer({ min: 0, max: 1_000_000 }),
    default: '64',
    doc: 'Of them, of one user; 0 is no limit.',
  },
  'svc.http.max-in-flight-bulk': {
    type: integer({ min: 0, max: 1_000_000 }),
    default: '8',
    doc: 'Of them, large lists and bodies, a quarter at most; 0 is no limit.',
  },
  'svc.http.reserved-for-system': {
    type: integer({ min: 0, max: 1_000_000 }),
    default: '32',
    doc: 'Of them, kept for leases, controllers and administrators, a quarter at most; 0 keeps none.',
  },
  'svc.http.max-wait': {
    type: duration({ min: '0s', max: '1m' }),
    default: '1s',
    doc: 'Time a request above these limits waits for others to end; then 429.',
  },
  'svc.http.max-bytes-in-flight': {
    type: size({ min: '32MiB', max: '1TiB' }),
    default: '',
    doc: "Memory for the requests under way: their bodies, also parsed, what they read, and their answers. Empty: three tenths of the container's memory, or of the machine's, at most 55 % of Node's heap.",
  },
  'svc.http.max-bytes-in-flight-per-user': {
    type: size({ min: '1MiB', max: '1TiB' }),
    default: '',
    doc: 'Of bodies, reads and answers, of one user. Empty: half, which is also the most.',
  },
  'svc.http.max-watches': {
    type: integer({ min: 0, max: 1_000_000 }),
    default: '8000',
    doc: 'Watches; 0 is no limit.',
  },
  'svc.http.max-watches-per-user': {
    type: integer({ min: 0, max: 1_000_000 }),
    default: '2000',
    doc: 'Watches of one user; 0 is no limit.',
  },
  'svc.http.max-wrong-credentials': {
    type: integer({ min: 0, max: 1_000_000_000 }),
    default: '2048',
    doc: 'Wrong credentials of one address in a minute; beyond them its credentials that were not good before are 429 without a look-up; 0 is no limit.',
  },
  'svc.http.max-senders': {
    type: integer({ min: 0, max: 1_000_000 }),
    default: '1024',
    doc: 'Bodies of requests on their way at a time, half of them of clients without a known credential; 0 is no limit.',
  },
  'svc.http.max-senders-per-address': {
    type: integer({ min: 0, max: 1_000_000 }),
    default: '16',
    doc: 'Of them, of one address without a known credential; 0 is no limit.',
  },
  'svc.http.min-body-rate': {
    type: size({ min: '0B', max: '1GiB' }),
    default: '512B',
    doc: 'What a body brings in a second at least, after its first 5 s; slower ones are 408. 0B is no limit.',
  },
  'svc.metrics.token': {
    type: accessToken,
    default: '',
    doc: 'Token that opens /metrics and nothing else, also while the database is away. Empty: none.',
    isSecret: true,
  },
  'svc.metrics.token-file': {
    type: text,
    default: '',
    doc: 'File that holds it, read anew when it changes.',
  },
  'svc.log.level': {
    type: enumOption('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    default: 'info',
    doc: 'Least important line that is logged.',
  },
  'svc.log.format': {
    type: enumOption('auto', 'json', 'pretty'),
    default: 'auto',
    doc: 'json is one object a line, pretty is for people; auto is pretty on a terminal.',
  },
  'svc.log.slow-request': {
    type: duration({ max: '1h' }),
    default: '1s',
    doc: 'From here on a request is logged as slow, as a warning.',
  },
} as const satisfies Record<string, Option<unknown>>;

export type OptionName = keyof typeof optionTable;

/** The value of every option, by its name. */
export type Options = { readonly [N in OptionName]: ValueOf<(typeof optionTable)[N]> };

export const optionNames = Object.keys(optionTable) as OptionName[];

export function findOption(name: string): Option<unknown> | undefined {
  return Object.hasOwn(optionTable, name) ? optionTable[name as OptionName] : undefined;
}

/** `svc.server.drain-timeout` is `SVC_SERVER_DRAIN_TIMEOUT` in the environment. */
export function environmentName(name: string): string {
  return name.toUpperCase().replaceAll(/[.-]/g, '_');
}
