import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fetchDebianKubectl } from '../../../../hack/helm/fetch-debian-kubectl.mjs';
import { hasHelm, toolsFolder } from '../../../../hack/helm/helm.mjs';
import type { ClientCase } from '../client-case.ts';
import type { ClientsOptions } from '../clients-options.ts';
import type { ClientSite } from '../site/client-site.ts';
import { runCommand, type CommandResult } from '../site/run-command.ts';

interface Kubectl {
  readonly name: string;
  readonly program: string;
  /** kubectl 1.20: no apply sets, another name of the allow list, and its checks need OpenAPI v2, which svc has not. */
  readonly isOld?: boolean;
}

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/** Of another project; every test of kubectl with all of them: test/system/kubectl/real-data.whole.test.ts. */
const realFolder = file('../../../../../shared/data/gateway-api/crds');
const realDefinitions = existsSync(realFolder) ? ['-f', realFolder] : [];
const versionColumns = 'custom-columns=A:.kind,B:.metadata.name,C:.metadata.resourceVersion';
const allowed = ['core/v1/ConfigMap', 'core/v1/Secret', 'garden.example.com/v1/Plant'];

/** Sets of objects that kubectl applies and prunes, with every kubectl that this machine has. */
export const kubectl: ClientCase = {
  missing: () => Promise.resolve(hasHelm() ? undefined : 'kubectl is not installed: node hack/helm/fetch.mjs'),
  run: async (site, options) => {
    for (const each of findKubectls(options)) {
      const shown = await runCommand(each.program, ['version', '--client'], { env: site.env });
      site.report.say(`${each.name}: ${/v1\.\d+\.\d+/.exec(shown.stdout)?.[0]}`);
      const at = new KubectlRun(site, each);
      await at.define();
      await at.applyAgain();
      if (each.isOld !== true) await at.applySet();
      await at.pruneByLabel();
      await at.clear();
    }
  },
};

function findKubectls({ peer }: ClientsOptions): Kubectl[] {
  const found: Kubectl[] = [{ name: 'kubectl', program: join(toolsFolder, 'kubectl') }];
  const ofPeer = peer === undefined ? undefined : join(peer, 'bin/kubectl');
  if (ofPeer !== undefined && existsSync(ofPeer)) found.push({ name: 'kubectl of the peer', program: ofPeer });
  const missing = fetchDebianKubectl();
  if (missing === undefined)
    found.push({ name: 'kubectl of Debian', program: join(toolsFolder, 'kubectl-debian'), isOld: true });
  else
    process.stderr.write(`WARNING: kubectl of Debian is SKIPPED, because this system does not have it: ${missing}\n`);
  return found;
}

/** One kubectl in a namespace of its own. */
class KubectlRun {
  readonly #site: ClientSite;
  readonly #kubectl: Kubectl;
  readonly #namespace: string;

  constructor(site: ClientSite, used: Kubectl) {
    this.#site = site;
    this.#kubectl = used;
    this.#namespace = used.name.replaceAll(' ', '-').toLowerCase();
  }

  async define(): Promise<void> {
    this.#checkDone('apply a definition', await this.#run('apply', '-f', file('plants.yaml')));
    this.#checkDone(
      'wait for it',
      await this.#run('wait', '--for=condition=Established', 'crd/plants.garden.example.com'),
    );
    this.#checkDone('create namespace', await this.#run('create', 'namespace', this.#namespace));
  }

  /** Server-side apply of what is there as it should be: nothing changes, and `diff` finds nothing. */
  async applyAgain(): Promise<void> {
    const objects = ['-f', file('plants.yaml'), '-f', file('first/objects.yaml'), ...realDefinitions];
    const versions = async (): Promise<string> => (await this.#run('get', ...objects, '-o', versionColumns)).stdout;
    const apply = (): Promise<CommandResult> => this.#run('apply', '--server-side', ...objects);
    this.#checkApplied('apply --server-side', await apply());
    this.#checkDone('wait for all', await this.#run('wait', '--for=condition=Established', 'crd', '--all'));
    const before = await versions();
    this.#checkApplied('apply --server-side again', await apply());
    this.#checkEqual('applied again, each has its resourceVersion', await versions(), before);
    const { status, stdout, stderr } = await this.#run('diff', '--server-side', ...objects);
    this.#site.check(`${this.#kubectl.name}: diff --server-side finds nothing`, status === 0, stderr + stdout);
    await this.clear();
  }

  /** `kubectl kustomize | kubectl apply --server-side --prune --applyset`: a ConfigMap is the set's parent. */
  async applySet(): Promise<void> {
    const first = await this.#kustomized('first');
    const second = await this.#kustomized('second');
    const apply = (rendered: string, ...args: string[]): Promise<CommandResult> =>
      this.#run('apply', '--server-side', '--prune', '--applyset=configmaps/garden', '-f', rendered, ...args);
    this.#checkDone('apply --applyset creates the set', await apply(first));
    const created = await this.#objects();
    this.#checkEqual('the objects of the first set', created.length, 5);
    this.#checkDone('apply --applyset changes and prunes', await apply(second));
    const changed = await this.#objects();
    this.#checkEqual(
      'the objects of the second set alone',
      changed.map((name) => name.replace(/-[0-9a-z]{10}$/, '-HASH')),
      ['configmap/garden', 'configmap/settings-HASH', 'configmap/two', 'plant.garden.example.com/lily', 'secret/key'],
    );
    this.#checkEqual(
      'a changed configMapGenerator is another object',
      created.some((name) => changed.includes(name) && name.includes('settings')),
      false,
    );
    const dry = await apply(first, '--dry-run=server');
    this.#checkDone('apply --applyset --dry-run=server', dry);
    this.#checkEqual('a dry run prunes nothing', await this.#objects(), changed);
    const plan = await this.#run('diff', '--server-side', '-f', first);
    this.#site.check(
      `${this.#kubectl.name}: diff shows what an apply would create`,
      plan.status === 1 && plan.stdout.includes('+  name: rose'),
      plan.stderr + plan.stdout,
    );
    await this.clear();
  }

  /** Client-side apply: it remembers in an annotation, and prunes by label and allow list. */
  async pruneByLabel(): Promise<void> {
    const option = this.#kubectl.isOld === true ? '--prune-whitelist' : '--prune-allowlist';
    const apply = (folder: string, ...args: string[]): Promise<CommandResult> =>
      this.#run('apply', '-f', file(`${folder}/objects.yaml`), ...args);
    const prune = ['--prune', '-l', 'app=garden', ...allowed.map((kind) => `${option}=${kind}`)];
    this.#checkDone('apply', await apply('first'));
    this.#checkDone('apply again changes nothing', await apply('first'));
    const pruned = await apply('second', ...prune);
    this.#checkDone('apply --prune -l', pruned);
    this.#checkEqual('what was pruned', pruned.stdout.match(/^.* pruned$/gm)?.toSorted(), [
      'configmap/one pruned',
      'plant.garden.example.com/rose pruned',
    ]);
    this.#checkEqual('what is left', await this.#objects(), [
      'configmap/two',
      'plant.garden.example.com/lily',
      'secret/key',
    ]);
  }

  /** Deletes the objects and waits until they are gone. */
  async clear(): Promise<void> {
    this.#checkDone('delete --all', await this.#run('delete', 'configmaps,secrets,plants', '--all'));
    this.#checkEqual('nothing is left', await this.#objects(), []);
  }

  async #objects(): Promise<string[]> {
    const { stdout } = await this.#run('get', 'configmaps,secrets,plants', '-o', 'name');
    return stdout.split('\n').filter(Boolean).toSorted();
  }

  async #kustomized(folder: string): Promise<string> {
    const output = join(this.#site.folder, `${this.#namespace}-${folder}.yaml`);
    this.#checkDone('kustomize', await this.#run('kustomize', file(folder), '-o', output));
    return output;
  }

  #run(...args: string[]): Promise<CommandResult> {
    const cache = join(this.#site.folder, `cache-${this.#namespace}`);
    return runCommand(this.#kubectl.program, [...args, '--cache-dir', cache, '--namespace', this.#namespace], {
      env: { ...this.#site.env, KUBECTL_APPLYSET: 'true' },
    });
  }

  /** The server warns that it does not enforce the definitions' rules in CEL. */
  #checkApplied(what: string, { status, stdout, stderr }: CommandResult): void {
    this.#site.check(`${this.#kubectl.name}: ${what}`, status === 0, `status ${status}\n${stderr}${stdout}`);
  }

  #checkDone(what: string, result: CommandResult): void {
    this.#site.checkDone(`${this.#kubectl.name}: ${what}`, result);
  }

  #checkEqual(what: string, actual: unknown, expected: unknown): void {
    this.#site.checkEqual(`${this.#kubectl.name}: ${what}`, actual, expected);
  }
}
