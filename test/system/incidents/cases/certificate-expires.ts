import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../harness/process/free-port.ts';
import type { Incident } from '../incident.ts';
import type { IncidentSite } from '../site/incident-site.ts';

const run = promisify(execFile);

async function writeCertificate({ folder }: IncidentSite, days: number): Promise<void> {
  const [key, cert] = [join(folder, 'tls.key'), join(folder, 'tls.crt')];
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await run('openssl', ['req', '-x509', ...made, '-days', String(days), ...subject, '-keyout', key, '-out', cert]);
}

async function openWithCertificate(site: IncidentSite): Promise<void> {
  await writeCertificate(site, 60);
  const files = [
    `--svc.tls.key-file=${join(site.folder, 'tls.key')}`,
    `--svc.tls.cert-file=${join(site.folder, 'tls.crt')}`,
  ];
  // Port 0 would switch TLS off.
  await (await site.add('serve', { args: [...files, `--svc.server.tls.port=${await freePort()}`] })).start();
}

function expiring(severity: string, days: number, speed: number, brings: readonly string[]): Incident {
  return {
    alert: 'SvcCertificateExpires',
    severity,
    speed,
    intent: `The certificate ends in ${days} days; another one replaces it, after one whose key does not fit.`,
    brings,
    open: openWithCertificate,
    logs: ['the new certificate cannot be used; the old one stays in use'],
    provoke: async (site) => {
      await writeCertificate(site, days);
      return () => writeCertificate(site, 60);
    },
    look: (site) => writeFile(join(site.folder, 'tls.key'), 'no key\n'),
  };
}

export const certificateExpires: readonly Incident[] = [
  expiring('warning', 10, 60, []),
  expiring('critical', 1, 30, ['SvcCertificateExpires:warning']),
];
