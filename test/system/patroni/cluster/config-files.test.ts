import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { repository } from '../../harness/process/server-process.ts';
import { etcdEnvironment, haproxyText, patroniFile, readConfig } from './config-files.ts';
import { missingPackages } from './missing-programs.ts';

const page = readFileSync(join(repository, 'docs/availability.md'), 'utf8');
const machines = [1, 2, 3].map((i) => ({ name: `db${i}`, host: `127.70.0.${i}` }));
const second = machines[1]!;
const options = { dataDir: '/data/db2', binDir: '/bin', isSynchronous: true };

describe('the configuration of Patroni, etcd and haproxy', () => {
  test.each(['etcd.env', 'patroni.yml', 'haproxy.cfg'])('docs/availability.md shows %s', async (name) => {
    const text = await readConfig(name);
    expect(page).toContain(`\n${text}\`\`\`\n`);
  });

  test('is that of deploy/patroni, but for addresses, folders and sockets', async () => {
    const shown = parse(await readConfig('patroni.yml')) as Record<string, object>;
    const file = await patroniFile(machines, second, options);
    expect(file).toEqual({
      ...shown,
      name: 'db2',
      restapi: { ...shown['restapi'], listen: '127.70.0.2:8008', connect_address: '127.70.0.2:8008' },
      etcd3: { hosts: '127.70.0.1:2379,127.70.0.2:2379,127.70.0.3:2379' },
      postgresql: {
        ...shown['postgresql'],
        listen: '127.70.0.2:5432',
        connect_address: '127.70.0.2:5432',
        data_dir: '/data/db2',
        bin_dir: '/bin',
        pgpass: '/data/db2.pgpass',
        parameters: { unix_socket_directories: '' },
        pg_hba: [
          'local all postgres peer',
          'host replication replicator 127.0.0.0/8 scram-sha-256',
          'host all all 127.0.0.0/8 scram-sha-256',
        ],
      },
    });
  });

  test('makes commits wait for nobody in the asynchronous case', async () => {
    const file = await patroniFile(machines, second, { ...options, isSynchronous: false });
    expect(file.bootstrap.dcs).toMatchObject({ synchronous_mode: false, synchronous_mode_strict: false, ttl: 20 });
  });

  test('names every member of etcd, each by its own address', async () => {
    expect(await etcdEnvironment(machines, second, '/etcd')).toMatchObject({
      ETCD_NAME: 'db2',
      ETCD_DATA_DIR: '/etcd/db2',
      ETCD_LISTEN_CLIENT_URLS: 'http://127.70.0.2:2379',
      ETCD_INITIAL_CLUSTER: 'db1=http://127.70.0.1:2380,db2=http://127.70.0.2:2380,db3=http://127.70.0.3:2380',
    });
  });

  test('has no third server in haproxy if there are two', async () => {
    const text = await haproxyText(machines.slice(0, 2), '127.70.0.9');
    expect(text).toContain('\n  bind 127.70.0.9:5432\n');
    expect(text.match(/^ {2}server .*$/gm)).toEqual(['  server db1 127.70.0.1:5432', '  server db2 127.70.0.2:5432']);
  });
});

test('programs that are not installed are named by their packages', async () => {
  expect(await missingPackages(['/nowhere'])).toEqual(expect.arrayContaining(['patroni', 'etcd-server', 'haproxy']));
});
