import { describe } from '@jest/globals';
import { fetchDebianKubectl } from '../../../hack/helm/fetch-debian-kubectl.mjs';
import { debianKubectl, hasHelm, kubectl } from '../../../hack/helm/helm.mjs';

/** A kubectl that this system has. */
export interface Kubectl {
  name: string;
  run: typeof kubectl;
  program: string;
}

/** Runs the same tests with each kubectl, a new and an old one; skips and warns about one that is not there. */
export function describeEachKubectl(tests: (kubectl: Kubectl) => void): void {
  const missing = fetchDebianKubectl();
  if (!hasHelm())
    process.stderr.write('WARNING: kubectl is not installed (node hack/helm/fetch.mjs); it is not tested.\n');
  if (missing !== undefined)
    process.stderr.write(`WARNING: Debian's kubectl is not tested, because this system does not have it: ${missing}\n`);
  const kubectls: Kubectl[] = [
    ...(hasHelm() ? [{ name: 'kubectl', run: kubectl, program: 'kubectl' }] : []),
    ...(missing === undefined ? [{ name: 'kubectl of Debian', run: debianKubectl, program: 'kubectl-debian' }] : []),
  ];
  if (kubectls.length === 0) describe.skip('kubectl', () => tests({ name: '', run: kubectl, program: '' }));
  else describe.each(kubectls)('$name', tests);
}
