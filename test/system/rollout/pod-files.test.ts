import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Manifests } from './manifests.ts';
import { prepareContainer } from './pod-files.ts';

const text = `
kind: Secret
metadata: { name: credentials }
data: { token: ${Buffer.from('pat_x').toString('base64')} }
---
kind: ConfigMap
metadata: { name: config }
data: { svc.yaml: "svc.data.dir: /data\\nsvc.access.api-url: http://svc-apiserver.svc.svc:80\\n" }
---
kind: Deployment
metadata: { name: svc-apiserver }
spec:
  template:
    metadata: { labels: { app: svc } }
    spec:
      volumes:
        - { name: data, emptyDir: {} }
        - { name: tmp, emptyDir: {} }
        - { name: config, configMap: { name: config } }
        - { name: keys, secret: { secretName: credentials, items: [{ key: token, path: a/token }] } }
      containers:
        - name: apiserver
          args: [apiserver, --config, /etc/svc]
          volumeMounts:
            - { name: data, mountPath: /data }
            - { name: tmp, mountPath: /tmp }
            - { name: config, mountPath: /etc/svc }
            - { name: keys, mountPath: /etc/svc/keys }
          env:
            - { name: POD_IP, valueFrom: { fieldRef: { fieldPath: status.podIP } } }
            - { name: SVC_TOKEN, valueFrom: { secretKeyRef: { name: credentials, key: token } } }
            - { name: SVC_SERVER_HOST, value: 0.0.0.0 }
            - { name: SVC_DATA_DIR, value: /data }
            - { name: SVC_KEY_FILE, value: /etc/svc/keys/a/token }
            - { name: SVC_OTHER, value: /database/tmp }
            - { name: SVC_URL, value: 'http://$(POD_IP):8092' }
            - { name: SVC_API_URL, value: 'http://svc-apiserver:8090/x' }
            - { name: SVC_DATABASE_URL, value: 'postgres://svc:pw@127.9.9.1:5432/svc' }
`;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-pod-files-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a container has its own address, its files at their paths, and the services at their addresses', () => {
  const manifests = new Manifests(text);
  const { spec } = manifests.deployment('svc-apiserver').spec.template;
  const view = prepareContainer(spec.containers[0]!, spec, {
    manifests,
    folder,
    ip: '127.9.9.7',
    name: 'pod-1',
    services: new Map([['svc-apiserver', '127.9.9.2']]),
  });
  const volumes = join(folder, 'volumes');
  expect(view.args).toEqual(['apiserver', '--config', `${volumes}/config`]);
  expect(view.env).toEqual({
    POD_IP: '127.9.9.7',
    SVC_TOKEN: 'pat_x',
    SVC_SERVER_HOST: '127.9.9.7',
    SVC_DATA_DIR: `${volumes}/data`,
    SVC_KEY_FILE: `${volumes}/keys/a/token`,
    SVC_OTHER: '/database/tmp',
    SVC_URL: 'http://127.9.9.7:8092',
    SVC_API_URL: 'http://127.9.9.2:8090/x',
    SVC_DATABASE_URL: 'postgres://svc:pw@127.9.9.1:5432/svc',
  });
  expect(existsSync(`${volumes}/tmp`)).toBe(true);
  expect(readFileSync(`${volumes}/keys/a/token`, 'utf8')).toBe('pat_x');
  expect(readFileSync(`${volumes}/config/svc.yaml`, 'utf8')).toBe(
    `svc.data.dir: ${volumes}/data\nsvc.access.api-url: http://127.9.9.2:10080\n`,
  );
});

test('a reference of a chart to an object that it does not create is reported', () => {
  expect(() => new Manifests(text).secret('elsewhere')).toThrow(
    'the chart refers to Secret elsewhere, which it does not create',
  );
});
