// Strips types with esbuild; `npm run typecheck` is what checks them.
import { createHash } from 'node:crypto';
import { transformSync, version } from 'esbuild';

export default {
  canInstrument: false,
  getCacheKey: (source, file, options) =>
    createHash('sha1')
      .update(source)
      .update(file)
      .update(version)
      .update(options.configString)
      .update(String(options.supportsStaticESM))
      .digest('hex'),
  // The map goes to a file of its own, which is read where an error is shown: within the code it is two thirds of what
  // each test file reads.
  process: (source, file, options) =>
    transformSync(source, {
      loader: 'ts',
      format: options.supportsStaticESM ? 'esm' : 'cjs',
      target: 'node20',
      sourcefile: file,
      sourcemap: 'external',
    }),
};
