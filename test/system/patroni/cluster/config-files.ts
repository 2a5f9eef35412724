import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { repository } from '../../harness/process/server-process.ts';

/** The files that docs/availability.md shows. */
export const configFolder = join(repository, 'deploy/patroni');
/** The machines' addresses in these files, and their network. */
const shownHosts = ['10.0.0.1', '10.0.0.2', '10.0.0.3'];
const shownNetwork = '10.0.0.0/24';

export const ports = { postgres: 5432, patroni: 8008, etcd: 2379 } as const;

/** A machine of the recipe: here an address of its own on this machine. */
export interface Machine {
  name: string;
  host: string;
}

export interface PatroniFile {
  name: string;
  restapi: { listen: string; connect_address: string; authentication: Login };
  etcd3: { hosts: string };
  bootstrap: {
    dcs: {
      ttl: number;
      synchronous_mode: boolean;
      synchronous_mode_strict: boolean;
      standby_cluster?: StandbyCluster;
    };
    initdb: unknown[];
  };
  postgresql: {
    listen: string;
    connect_address: string;
    data_dir: string;
    bin_dir: string;
    parameters?: Record<string, string>;
    authentication: Record<'superuser' | 'replication' | 'rewind', Login>;
  };
}

/** Where the first server of a standby cluster gets its changes from: `host` lists a whole region. */
export interface StandbyCluster {
  host: string;
  port: number;
}

export interface Login {
  username: string;
  password: string;
}

/** etcd's environment on a machine. */
export async function etcdEnvironment(
  machines: readonly Machine[],
  machine: Machine,
  folder: string,
): Promise<Record<string, string>> {
  const text = onMachines(await readConfig('etcd.env'), machines);
  const shown = Object.fromEntries(
    [...text.matchAll(/^(ETCD_\w+)="(.*)"$/gm)].map(([, name = '', value = '']) => [name, value]),
  );
  const [first] = machines;
  const own = Object.fromEntries(
    Object.entries(shown).map(([name, value]) => [
      name,
      name === 'ETCD_INITIAL_CLUSTER'
        ? initialCluster(value, machines)
        : value.replace(first?.host ?? '', machine.host),
    ]),
  );
  return { ...own, ETCD_NAME: machine.name, ETCD_DATA_DIR: join(folder, machine.name) };
}

/** What the run decides about a machine's Patroni. */
export interface PatroniSettings {
  dataDir: string;
  binDir: string;
  /** Commits wait for standbys. */
  isSynchronous: boolean;
  /** Its cluster begins as a standby of another one. */
  standbyCluster?: StandbyCluster;
}

/** Patroni's configuration on a machine; `machines` are those with etcd. */
export async function patroniFile(
  machines: readonly Machine[],
  machine: Machine,
  { dataDir, binDir, isSynchronous, standbyCluster }: PatroniSettings,
): Promise<PatroniFile> {
  const file = parse(onMachines(await readConfig('patroni.yml'), machines)) as PatroniFile;
  const { restapi, postgresql, bootstrap, etcd3 } = file;
  file.name = machine.name;
  for (const place of [restapi, postgresql]) {
    const port = place === restapi ? ports.patroni : ports.postgres;
    place.listen = place.connect_address = `${machine.host}:${port}`;
  }
  Object.assign(postgresql, {
    data_dir: dataDir,
    bin_dir: binDir,
    // By default in the home of PostgreSQL's user, where the servers would overwrite each other's.
    pgpass: `${dataDir}.pgpass`,
    // All servers are on this machine, and would use one folder for their sockets.
    parameters: { unix_socket_directories: '' },
  });
  etcd3.hosts = withoutShown(etcd3.hosts);
  if (standbyCluster !== undefined) bootstrap.dcs.standby_cluster = standbyCluster;
  if (!isSynchronous) Object.assign(bootstrap.dcs, { synchronous_mode: false, synchronous_mode_strict: false });
  return file;
}

export function patroniText(file: PatroniFile): string {
  return stringify(file);
}

/** haproxy's configuration for these PostgreSQL servers, reached at `host`. */
export async function haproxyText(machines: readonly Machine[], host: string): Promise<string> {
  const text = onMachines(await readConfig('haproxy.cfg'), machines);
  return text
    .replace(/^ {2}bind .*$/m, `  bind ${host}:${ports.postgres}`)
    .split('\n')
    .filter((line) => !shownHosts.some((shown) => line.includes(shown)))
    .join('\n');
}

function initialCluster(shown: string, machines: readonly Machine[]): string {
  let members = withoutShown(shown);
  for (const [i, { name }] of machines.entries()) members = members.replace(`db${i + 1}=`, `${name}=`);
  return members;
}

/** Without the members of a list that no machine of the run stands for. */
function withoutShown(list: string): string {
  const isShown = (member: string): boolean => shownHosts.some((host) => member.includes(host));
  return list
    .split(',')
    .filter((member) => !isShown(member))
    .join(',');
}

export function readConfig(name: string): Promise<string> {
  return readFile(join(configFolder, name), 'utf8');
}

/** Puts the addresses of the run's machines in the place of those that the file shows. */
function onMachines(text: string, machines: readonly Machine[]): string {
  let changed = text.replaceAll(shownNetwork, '127.0.0.0/8');
  for (const [i, { host }] of machines.entries()) changed = changed.replaceAll(shownHosts[i] ?? host, host);
  return changed;
}
