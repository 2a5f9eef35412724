import { runClientContract } from './run-client-contract.ts';
import { portTransports } from './transport.ts';

runClientContract(portTransports);
