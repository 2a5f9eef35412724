/**
 * Removes what killed backups have left, makes one, named after the time, and then removes the oldest of those it has
 * made before. Run in the image's folder. Environment: BACKUP_FOLDER, BACKUPS_KEPT, and what `svc backup` needs. Ends
 * with its exit code; a signal is passed on to it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** No backup of the CronJob takes longer. */
const LONGEST_MS = 6 * 3_600_000;
const { BACKUP_FOLDER: folder, BACKUPS_KEPT: kept } = process.env;

const file = join(folder, `svc-${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z.svcbak`);
const namesOf = (pattern) => readdirSync(folder).filter((name) => pattern.test(name));
const parts = namesOf(/^svc-\d{8}T\d{6}Z[.]svcbak([.]\d)?[.]partial$/);
for (const name of parts)
  if (Date.now() - statSync(join(folder, name)).mtimeMs > LONGEST_MS) rmSync(join(folder, name));

const child = spawn(
  process.execPath,
  ['--enable-source-maps', 'dist/cmd/svc/main.js', 'backup', '--to', file, '--config', '/etc/svc/config'],
  { stdio: 'inherit' },
);
// The first process of a container hears no signal that it does not listen to.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
const [code] = await once(child, 'exit');
if (code !== 0) process.exit(code ?? 1);

const whole = namesOf(/^svc-\d{8}T\d{6}Z[.]svcbak$/).toSorted();
for (const name of whole.slice(0, -Number(kept))) rmSync(join(folder, name));
