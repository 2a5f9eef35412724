// Controllers in a worker thread, like a plugin's. A thread does not inherit the parent's TypeScript loader.
import { tsImport } from 'tsx/esm/api';

await tsImport('./controller-thread.ts', import.meta.url);
