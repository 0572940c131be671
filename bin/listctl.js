#!/usr/bin/env node
'use strict';

const { resolve } = require('node:path');

require('../dist/start.cjs').start(process, resolve(__dirname, '../dist/listctl.cjs'));
