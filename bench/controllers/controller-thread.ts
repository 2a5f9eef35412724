import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import { PortClient } from '#pkg/client/index';
import { measureControllers, type ControllerPlan } from './controller-run.ts';

const { port, plan } = workerData as { port: MessagePort; plan: ControllerPlan };
const client = new PortClient({ port });
const figures = await measureControllers(client, plan);
client.close();
parentPort!.postMessage(figures, []);
