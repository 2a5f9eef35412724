/**
 * Checks the import rules (docs/contributing/layout.md): `node hack/verify-imports.mjs`. Prints each violation, exits 1
 * on any.
 */
import { fileURLToPath } from 'node:url';
import { checkImports } from './imports/check-imports.mjs';

const { files, violations } = await checkImports(fileURLToPath(new URL('..', import.meta.url)));
process.stdout.write(
  violations.length === 0
    ? `${files} files, all imports allowed, no cycles\n`
    : `${violations.join('\n')}\n${violations.length} violations\n`,
);
process.exitCode = violations.length === 0 ? 0 : 1;
