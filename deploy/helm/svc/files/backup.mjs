/**
 * Makes a backup, named after the time, and removes the oldest of those it has made before, with what killed ones have left. Run in the image's folder.
 * Environment: BACKUP_FOLDER, BACKUPS_KEPT, and what `svc backup` needs. Ends with its exit code.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** No backup of the CronJob takes longer. */
const LONGEST_MS = 6 * 3_600_000;
const { BACKUP_FOLDER: folder, BACKUPS_KEPT: kept } = process.env;

const file = join(folder, `svc-${new Date().toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z.svcbak`);
const { status } = spawnSync(process.execPath, ['--enable-source-maps', 'dist/cmd/svc/main.js', 'backup', '--to', file, '--config', '/etc/svc/config'], { stdio: 'inherit' });
if (status !== 0) process.exit(status ?? 1);

const named = readdirSync(folder).filter((name) => /^svc-\d{8}T\d{6}Z[.]svcbak([.]partial)?$/.test(name));
const whole = named.filter((name) => name.endsWith('.svcbak')).toSorted();
const left = named.filter((name) => name.endsWith('.partial') && Date.now() - statSync(join(folder, name)).mtimeMs > LONGEST_MS);
for (const name of [...whole.slice(0, -Number(kept)), ...left]) rmSync(join(folder, name));
