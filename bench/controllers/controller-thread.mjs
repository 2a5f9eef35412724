// Controllers in a worker thread, as a plugin's are. A thread does not inherit what makes its parent read TypeScript.
import { tsImport } from 'tsx/esm/api';

await tsImport('./controller-thread.ts', import.meta.url);
