// The widget in a page of a make-believe CRM, to be tried by hand: node test/try.mjs

import { startWorld } from './fakes/world.mjs';

const world = await startWorld({ ports: [8301, 8302, 8303, 8304] });
console.log(`Open ${world.page()}\nNothing leaves this machine. Ctrl-C ends it.`);
