#!/usr/bin/env node
'use strict';

require('../dist/listctl.cjs').run(process);
