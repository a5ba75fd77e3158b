#!/bin/bash
#SBATCH -o chain_%j.out
echo "$1"
exit "${2:-0}"
