import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toolsFolder } from './helm.mjs';

const debianPackage = 'kubernetes-client';
const timeoutMs = 120_000;

/**
 * Unpacks the kubectl of Debian's package kubernetes-client (1.20 in bookworm) into node_modules/.cache/helm, and
 * installs nothing. Returns undefined when it is there, or the reason why this system does not have it.
 */
export function fetchDebianKubectl() {
  const kubectl = join(toolsFolder, 'kubectl-debian');
  if (existsSync(kubectl)) return undefined;
  mkdirSync(toolsFolder, { recursive: true });
  const work = mkdtempSync(join(toolsFolder, 'debian-'));
  try {
    const run = (command, args) =>
      execFileSync(command, args, { cwd: work, encoding: 'utf8', stdio: 'pipe', timeout: timeoutMs });
    run('apt-get', ['download', debianPackage]);
    const file = readdirSync(work).find((name) => name.endsWith('.deb'));
    if (file === undefined) return `apt-get download ${debianPackage} brought no package`;
    run('dpkg', ['-x', file, 'unpacked']);
    renameSync(join(work, 'unpacked/usr/bin/kubectl'), kubectl);
    return undefined;
  } catch (error) {
    return String(error.message);
  } finally {
    rmSync(work, { recursive: true });
  }
}
