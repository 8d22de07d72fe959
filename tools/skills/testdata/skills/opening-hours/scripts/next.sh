#!/bin/sh
date -d tomorrow
