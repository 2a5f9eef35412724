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
  process: (source, file, options) => ({
    code: transformSync(source, {
      loader: 'ts',
      format: options.supportsStaticESM ? 'esm' : 'cjs',
      target: 'node20',
      sourcefile: file,
      sourcemap: 'inline',
    }).code,
  }),
};
